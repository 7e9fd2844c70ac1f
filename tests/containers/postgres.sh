#!/bin/sh
# What the official image does before its first start: creates the data directory, the user and
# the database.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb -U "$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl -w -o "-c listen_addresses=" start
  createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -w stop
fi
exec "$@"
