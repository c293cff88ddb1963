# The image contains one static binary, the certificates of public authorities, the time
# zones, and the licences of all of these, in NOTICES.txt. It has no shell and writes
# nothing, so it runs with a read-only root and without capabilities:
#
#   docker build --build-arg VERSION=1.0.0 --build-arg COMMIT=$(git rev-parse HEAD) -t herald .
#   docker run --read-only --cap-drop=ALL --env-file herald.env -p 127.0.0.1:8080:8080 herald
#
# If DATA_DIR is needed, mount a volume at /data, where the bot can write, and set
# DATA_DIR=/data. Kubernetes ignores HEALTHCHECK: it probes port 8080, /healthz for liveness
# and /readyz for readiness.

# The build stage runs on the builder's own platform, and compiles for the target platform.
FROM --platform=$BUILDPLATFORM golang:1.26.9-bookworm AS build
WORKDIR /src

COPY go.mod go.sum ./
RUN go mod download

COPY . .
ARG TARGETOS TARGETARCH
ENV GOOS=$TARGETOS GOARCH=$TARGETARCH
ARG VERSION=dev
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath \
        -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${COMMIT}" \
        -o /bot ./cmd/bot
RUN .ci/notices >/NOTICES.txt
RUN mkdir /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /zoneinfo.zip
COPY --from=build /NOTICES.txt /NOTICES.txt
COPY --from=build /bot /bot
COPY --from=build --chown=65532:65532 /data /data

# The default, 127.0.0.1:8080, cannot be reached from outside the container.
ENV HTTP_ADDR=0.0.0.0:8080 ZONEINFO=/zoneinfo.zip
EXPOSE 8080
USER 65532:65532
STOPSIGNAL SIGTERM
# This command needs no shell. If HTTP_ADDR is off, it fails, and the container counts as
# unhealthy.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/bot", "health"]
ENTRYPOINT ["/bot"]
CMD ["run"]
