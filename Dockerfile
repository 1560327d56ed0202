# The service in a container: kernels compiled ahead, and no root.
#   docker build -t remuda .
#   docker run -p 8000:8000 -v remuda-data:/data -v "$PWD/tokens:/run/secrets/tokens:ro" remuda
# Kernels are those of the processor that builds the image; on another kind they are compiled anew
# when the container starts, and /readyz waits for them.
FROM python:3.11-slim

RUN useradd --uid 10001 --create-home remuda && install -d -o remuda -g remuda /data /app

COPY --chown=remuda pyproject.toml constraints.txt README.md LICENSE /app/
COPY --chown=remuda src /app/src
RUN pip install --no-cache-dir --constraint /app/constraints.txt '/app[fast,service]'

USER remuda
ENV NUMBA_CACHE_DIR=/home/remuda/kernels
RUN remuda warmup

VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --start-period=60s CMD ["python", "-c", \
    "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=5)"]
ENTRYPOINT ["remuda", "serve", "/data", "--host", "0.0.0.0", "--tokens", "/run/secrets/tokens"]
CMD ["--workers", "2", "--log", "json"]
