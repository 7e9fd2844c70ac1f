-- Steps of signing in that are under way name an account. They go with it.
GRANT SELECT (value), DELETE ON verification TO tidegate_ctl;
