# Node without a registry for images, from Debian's packages and Node's on npm. It has what
# Tidegate's Dockerfile uses of the official image, and no more. bases.mjs makes tidegate-debian and
# `node`.
FROM tidegate-debian AS node
COPY node/ /usr/local/
RUN useradd --uid 1000 --create-home node \
  && for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "/usr/local/bin/$name"; done
