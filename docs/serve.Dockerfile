# The server as an image. The folder that is built is copied as it is, with the packages that `npm install` has put there:
# nothing is fetched, and what runs is what was tested. docs/serving.md says how to make the folder.

ARG BASE=debian:bookworm-slim
FROM ${BASE}

RUN useradd --uid 65532 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin portcullis \
 && install --directory --owner=65532 --group=65532 --mode=0700 /data

COPY . /app

USER 65532:65532
WORKDIR /app
ENV NODE_ENV=production \
    PORTCULLIS_JOURNAL=/data/portcullis.db \
    PATH=/app/node_modules/node/bin:/app/node_modules/.bin:/usr/bin:/bin
VOLUME /data
EXPOSE 7332
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7332/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "node_modules/portcullis/dist/src/cli.js"]
CMD ["serve", "--tools", "tools.js", "--host", "0.0.0.0", "--keys", "/run/secrets/keys.json"]
