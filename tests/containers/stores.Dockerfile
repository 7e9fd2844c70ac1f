# The stores without a registry for images, from Debian's packages. They have what
# docker-compose.yml uses of the official images, and no more. bases.mjs makes tidegate-debian.
#
# The mirror may be an old snapshot that has expired.
FROM tidegate-debian AS stores
RUN printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d \
  && apt-get -o Acquire::Check-Valid-Until=false update \
  && apt-get install -y --no-install-recommends postgresql-18 redis-server \
  && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/*

FROM stores AS redis
RUN install -d -o redis -g redis /data

# A tmpfs mounted there gets the folder's mode, but not its owner.
FROM stores AS postgres
RUN chmod 3777 /var/run/postgresql
COPY postgres.sh /usr/local/bin/
ENV LANG=C.UTF-8 PGDATA=/var/lib/postgresql/18/docker PATH=/usr/lib/postgresql/18/bin:/usr/bin:/bin
ENTRYPOINT ["sh", "/usr/local/bin/postgres.sh"]
