#!/bin/sh
# Starts Redis in compose: fills in redis.acl with the hashes of the passwords, in a file that
# exists only in memory.
set -eu
umask 077
: "${REDIS_PASSWORD:?}" "${LIMITER_PASSWORD:?}" "${METERING_PASSWORD:?}" "${CTL_PASSWORD:?}"
sha256() { printf %s "$1" | sha256sum | cut -d ' ' -f 1; }
sed -e '/^#/d' \
  -e "s/SHA256_OF_REDIS_PASSWORD/$(sha256 "$REDIS_PASSWORD")/" \
  -e "s/SHA256_OF_LIMITER_PASSWORD/$(sha256 "$LIMITER_PASSWORD")/" \
  -e "s/SHA256_OF_METERING_PASSWORD/$(sha256 "$METERING_PASSWORD")/" \
  -e "s/SHA256_OF_CTL_PASSWORD/$(sha256 "$CTL_PASSWORD")/" \
  "$(dirname "$0")/redis.acl" > "${TMPDIR:-/tmp}/redis.acl"
unset REDIS_PASSWORD LIMITER_PASSWORD METERING_PASSWORD CTL_PASSWORD
exec redis-server "$(dirname "$0")/redis.conf" --aclfile "${TMPDIR:-/tmp}/redis.acl" "$@"
