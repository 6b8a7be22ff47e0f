# syntax=docker/dockerfile:1
# The stub in a container: docker run -p 8080:8080 ghcr.io/petstore-mock/petstore-mock

# All platforms share one wheel. It is built on the builder's own platform, without emulation.
FROM --platform=$BUILDPLATFORM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir 'build>=1.2' && python -m build --wheel --outdir /dist

# A release replaces this stage with the wheel that it has tested: --build-context wheel=dist
FROM scratch AS wheel
COPY --from=build /dist/ /

FROM python:3.13-slim
LABEL org.opencontainers.image.title="petstore-mock" \
      org.opencontainers.image.description="A fake of the pet store service, for testing its clients" \
      org.opencontainers.image.source="https://github.com/petstore-mock/petstore-mock" \
      org.opencontainers.image.documentation="https://petstore-mock.readthedocs.io/" \
      org.opencontainers.image.licenses="MIT"
RUN --mount=type=bind,from=wheel,target=/wheel \
    pip install --no-cache-dir --no-compile "$(echo /wheel/*.whl)[fast,tls]" \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin petstore \
    && install --directory --owner=10001 --group=10001 /certs
# Variables, not options of CMD: users can override them with -e or with an option, and the health check reads them too.
ENV PYTHONDONTWRITEBYTECODE=1 PETSTORE_MOCK_HOST=0.0.0.0
USER 10001:10001
WORKDIR /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --start-interval=1s \
    CMD ["petstore-mock", "ready", "--timeout", "3"]
ENTRYPOINT ["petstore-mock"]
CMD ["serve"]
