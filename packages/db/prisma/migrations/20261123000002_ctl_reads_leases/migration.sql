-- `ctl doctor` looks whether a runner acts.
GRANT SELECT ON "runner_lease" TO tidegate_ctl;
