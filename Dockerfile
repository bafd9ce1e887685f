# A static binary and nothing else, run by a user that owns nothing.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# What kanon version says; a clone's history is not in the image's context.
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X kanon.dev/kanon/cmd/kanon/internal/cli.release=$VERSION" -o /kanon ./cmd/kanon

FROM scratch
COPY --from=build /kanon /kanon
USER 65532:65532
ENTRYPOINT ["/kanon"]
CMD ["run"]
