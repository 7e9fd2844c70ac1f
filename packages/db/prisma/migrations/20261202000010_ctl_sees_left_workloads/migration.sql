-- `ctl doctor` names the workloads of deleted models that are not scaled down.
GRANT SELECT ON "left_workload" TO tidegate_ctl;
