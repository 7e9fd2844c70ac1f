-- Grows with each change of a published model, so that runners notice it.

ALTER TABLE "model" ADD COLUMN "version" INTEGER NOT NULL DEFAULT 1;
