# One image for web, worker, beat and watcher; the command tells them apart.
FROM node:24-slim AS frontend
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts

FROM python:3.13-slim AS build
COPY --from=ghcr.io/astral-sh/uv:0.13 /uv /bin/uv
WORKDIR /app
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-group dev
COPY . .
COPY --from=frontend /src/node_modules node_modules
RUN uv run --frozen --no-group dev python -m dev.frontend --installed \
    && uvx --from babel==2.19.0 pybabel compile --directory locale --domain django \
    && BERTH_SECRET_KEY=build DATABASE_URL=postgresql:///build REDIS_URL=redis://build \
       OIDC_ISSUER=build OIDC_AUTHORIZATION_ENDPOINT=build OIDC_TOKEN_ENDPOINT=build \
       OIDC_USERINFO_ENDPOINT=build OIDC_JWKS_ENDPOINT=build \
       .venv/bin/python manage.py collectstatic --noinput \
    && rm -rf node_modules dev tests bench

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home berth
WORKDIR /app
COPY --from=build /app /app
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8000
# Open streams would hold up a restart; browsers connect again by themselves.
CMD ["uvicorn", "portal.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--timeout-graceful-shutdown", "3"]
