-- By this a limiter tells an organization whose live state was lost from one that never had any.

ALTER TABLE "org" ADD COLUMN "limiter_life" TEXT;

-- Organizations with usage have had live state already.
UPDATE "org" SET "limiter_life" = 'earlier' WHERE EXISTS (SELECT 1 FROM "month_total" WHERE "org_id" = "org"."id");
