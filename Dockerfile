# The image holds one static binary, the certificates of public authorities,
# time zones, and the licences of all that, in NOTICES.txt. It has no shell and
# writes nothing, so it runs with a read-only root and without capabilities:
#
#   docker build --build-arg VERSION=1.0.0 --build-arg COMMIT=$(git rev-parse HEAD) -t herald .
#   docker run --read-only --cap-drop=ALL --env-file herald.env -p 127.0.0.1:8080:8080 herald
#
# For DATA_DIR there is /data: a volume that is mounted there can be written to.
# Kubernetes takes no notice of HEALTHCHECK: it asks by HTTP on port 8080, /healthz
# for liveness and /readyz for readiness.

# Compiled on the builder's own platform, for whichever is asked.
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

# The default of 127.0.0.1:8080 could not be reached from outside the container.
ENV HTTP_ADDR=0.0.0.0:8080 ZONEINFO=/zoneinfo.zip
EXPOSE 8080
USER 65532:65532
STOPSIGNAL SIGTERM
# It needs no shell. With HTTP_ADDR=off there is nobody to ask, and the container
# counts as unhealthy.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/bot", "health"]
ENTRYPOINT ["/bot"]
CMD ["run"]
