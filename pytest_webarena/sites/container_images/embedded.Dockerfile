# Embedded apps, those of which are served whose packages are in it; the command says which one a container serves.
#
#   docker build -t embedded -f pytest_webarena/sites/container_images/embedded.Dockerfile .
#   docker run --rm --init -p 127.0.0.1:8080:8080 embedded homepage --host 0.0.0.0 --port 8080 --data /data/homepage
#
# pytest-webarena builds it by itself when an app needs it. Kept in the dialect of the classic builder
# (no RUN --mount, no heredocs), which docker-py always uses.
ARG BASE=python:3.11-slim
FROM ${BASE}

# A base that brings the packages along is left as it is: so this also builds without a registry.
ARG PACKAGES="flask pyyaml waitress"
RUN python3 -c "import sys; from importlib.metadata import version; [version(p.split('==')[0]) for p in sys.argv[1:]]" ${PACKAGES} 2>/dev/null \
    || python3 -m pip install --no-cache-dir ${PACKAGES}

ENV PYTHONPATH=/opt/webarena PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1
COPY pytest_webarena/errors.py /opt/webarena/pytest_webarena/
COPY pytest_webarena/embedded /opt/webarena/pytest_webarena/embedded

# What every start would otherwise do anew: compile (the user below can't store it) and seed, into /data/<app>.
RUN python3 -m compileall -q /opt/webarena "$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
    && python3 -c "from pathlib import Path; from pytest_webarena.embedded import APPS; [app.seed(Path('/data', app.name)) for app in APPS.values() if app.available]" \
    && python3 -c "import os; [os.chown(path, 65532, 65532) for folder, _, files in os.walk('/data') for path in [folder, *(os.path.join(folder, file) for file in files)]]"
USER 65532:65532
WORKDIR /data
EXPOSE 8080
ENTRYPOINT ["python3", "-m", "pytest_webarena.embedded.serve"]
