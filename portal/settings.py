"""Settings. Every one that an installation may change is an environment variable named here.

docs/operations.md explains them; a test holds docker-compose.yml against this file.
"""

from pathlib import Path
from urllib.parse import urlsplit

from django.utils.csp import CSP
from environs import Env, validate

env = Env()


def origin(url: str) -> str:
    """Scheme, host and port of a URL; empty for an empty one."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if url else ""


BASE_DIR = Path(__file__).resolve().parent.parent

# --- the site -----------------------------------------------------------------------------------
DEBUG = env.bool("BERTH_DEBUG", default=False)
SECRET_KEY = env.str("BERTH_SECRET_KEY")
ALLOWED_HOSTS = env.list("BERTH_ALLOWED_HOSTS", default=["127.0.0.1", "localhost"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("BERTH_TRUSTED_ORIGINS", default=[])
# True where people reach the portal over https: then cookies are marked Secure and HSTS is sent.
HTTPS = env.bool("BERTH_HTTPS", default=not DEBUG)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_NAME = "berth_session"
# Scripts never see it; Lax, not Strict, since the identity provider sends people back by a link.
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# A session that is not renewed for this long is gone, with the page to come back to.
SESSION_COOKIE_AGE = 12 * 3600
CSRF_FAILURE_VIEW = "portal.signin.refusals.csrf_failure"
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    # htmx and uPlot set style attributes; no inline script is allowed.
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "frame-ancestors": [CSP.NONE],
    # Signing out is a form of ours that redirects to the provider, and browsers count that too.
    "form-action": [CSP.SELF, *filter(None, [origin(env.str("OIDC_END_SESSION_ENDPOINT", ""))])],
    "base-uri": [CSP.SELF],
    "object-src": [CSP.NONE],
}

INSTALLED_APPS = [
    "portal.apps.PortalConfig",
    "quotas.apps.QuotasConfig",
    "notices.apps.NoticesConfig",
    "tenants.apps.TenantsConfig",
    "portal.apps.BerthAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "django_htmx",
    "django_filters",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "portal.middleware.BodyMiddleware",
    "portal.middleware.NulByteMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.signin.middleware.FreshSessionMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "portal.context.site",
            ],
        },
    },
]

DATABASES = {
    "default": env.dj_db_url("DATABASE_URL", conn_max_age=0, conn_health_checks=True),
}
# Pages, streams and tasks run in threads that come and go: a pool outlives them, a thread's own
# persistent connection does not.
DATABASES["default"]["OPTIONS"] = {
    "pool": {"min_size": 1, "max_size": env.int("BERTH_DB_POOL", default=20), "timeout": 10},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = env.str("BERTH_TIME_ZONE", default="UTC")
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "build" / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Serves straight from the folders above, so that a checkout works without collectstatic.
WHITENOISE_USE_FINDERS = True

# --- sign-in ------------------------------------------------------------------------------------
AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["portal.signin.backend.Backend"]
LOGIN_URL = "oidc_authentication_init"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "signed_out"

OIDC_ISSUER = env.str("OIDC_ISSUER")
OIDC_RP_CLIENT_ID = env.str("OIDC_CLIENT_ID", default="berth")
OIDC_RP_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
# The one algorithm that tokens may be signed with. Its keys are public ones, from the provider.
OIDC_RP_SIGN_ALGO = env.str(
    "OIDC_SIGN_ALGORITHM",
    default="RS256",
    validate=validate.OneOf(
        [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)]
    ),
)
OIDC_RP_SCOPES = env.str("OIDC_SCOPES", default="openid email profile")
OIDC_OP_AUTHORIZATION_ENDPOINT = env.str("OIDC_AUTHORIZATION_ENDPOINT")
OIDC_OP_TOKEN_ENDPOINT = env.str("OIDC_TOKEN_ENDPOINT")
OIDC_OP_USER_ENDPOINT = env.str("OIDC_USERINFO_ENDPOINT")
OIDC_OP_JWKS_ENDPOINT = env.str("OIDC_JWKS_ENDPOINT")
# Empty where the provider has no end-session endpoint.
OIDC_OP_LOGOUT_ENDPOINT = env.str("OIDC_END_SESSION_ENDPOINT", default="")
OIDC_OP_LOGOUT_URL_METHOD = "portal.signin.views.provider_logout_url"
OIDC_USE_PKCE = True
OIDC_TIMEOUT = env.float("OIDC_TIMEOUT_S", default=10)
# How long a sign-in is trusted before the provider is asked again, in seconds. This is also how
# long somebody who lost a group may still use it.
OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS = env.int("OIDC_RENEW_S", default=900)
# Audiences of bearer tokens that the API takes; an own client for tools goes here.
OIDC_API_AUDIENCES = env.list("OIDC_API_AUDIENCES", default=[OIDC_RP_CLIENT_ID])
OIDC_GROUPS_CLAIM = env.str("OIDC_GROUPS_CLAIM", default="groups")

# --- who may do what ----------------------------------------------------------------------------
BERTH_ADMIN_GROUPS = env.list("BERTH_ADMIN_GROUPS", default=["berth-admins"])
BERTH_APPROVER_GROUPS = env.list("BERTH_APPROVER_GROUPS", default=["berth-approvers"])
BERTH_AUDITOR_GROUPS = env.list("BERTH_AUDITOR_GROUPS", default=["berth-auditors"])

# --- namespaces ---------------------------------------------------------------------------------
BERTH_RESERVED_NAMES = env.list("BERTH_RESERVED_NAMES", default=["default"])
BERTH_RESERVED_PREFIXES = env.list(
    "BERTH_RESERVED_PREFIXES", default=["kube-", "openshift-", "berth-"]
)

# The Pod Security Standard that namespaces enforce: "privileged" lets a team's pod reach its node.
BERTH_POD_SECURITY = env.str(
    "BERTH_POD_SECURITY",
    default="baseline",
    validate=validate.OneOf(["privileged", "baseline", "restricted"]),
)

# --- Redis protocol: broker and pub/sub ---------------------------------------------------------
REDIS_URL = env.str("REDIS_URL")
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A nudge must not hold up the request it follows: when the broker is down the sweep does its work.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Even without the retry above the library would try to connect for six seconds.
    "max_retries": 0,
    "socket_connect_timeout": 1,
    "socket_timeout": 5,
    "visibility_timeout": 300,
    "global_keyprefix": env.str("BERTH_REDIS_PREFIX", default="berth:"),
}
REDIS_PREFIX = CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"]
BERTH_SWEEP_S = env.float("BERTH_SWEEP_S", default=5)
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "quotas.sweep",
        "schedule": BERTH_SWEEP_S,
        # A sweep that waited longer than its period is stale: the next one does the same work.
        "options": {"expires": BERTH_SWEEP_S},
    },
}

# --- API ----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "portal.signin.api.BearerAuthentication",
        "portal.signin.api.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["portal.api.parsers.JSONParser"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_PAGINATION_CLASS": "portal.api.Pagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "portal.api.exception_handler",
    "PAGE_SIZE": 50,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Berth",
    "DESCRIPTION": "Namespaces and GPU quota on shared Kubernetes clusters.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "portal.api.schema.add_problems",
    ],
    "ENUM_NAME_OVERRIDES": {
        "PortalRole": [(role, role) for role in ("admin", "approver", "auditor")],
        "TeamRole": "tenants.models.TeamGroup.Role",
    },
}

# --- what a demo tells its pages ----------------------------------------------------------------
# A JSON file in which `make demo` reports how far the build of its control plane has come.
BERTH_PROGRESS_FILE = env.str("BERTH_PROGRESS_FILE", default="")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["stderr"], "level": env.str("BERTH_LOG_LEVEL", default="INFO")},
}
