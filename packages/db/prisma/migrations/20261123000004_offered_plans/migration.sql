-- Which plans owners may choose. Other plans are for the organizations that an operator puts on them.
-- Roles that read and write plans already have rights to the whole table.
ALTER TABLE "plan" ADD COLUMN "offered" BOOLEAN NOT NULL DEFAULT false;
UPDATE "plan" SET "offered" = true WHERE "id" IN ('plan_free', 'plan_starter', 'plan_pro');
