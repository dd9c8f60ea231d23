"""Sign-in with the identity provider: OpenID Connect for pages, bearer tokens for the API."""
