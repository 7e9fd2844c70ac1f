-- Every settlement updates a row of each of these. With room for the new version on its page, no
-- index has to be touched. Pages that are full already get room when their rows are next written.
ALTER TABLE "api_key" SET (fillfactor = 80);
ALTER TABLE "usage_hour" SET (fillfactor = 80);
ALTER TABLE "usage_day" SET (fillfactor = 80);
ALTER TABLE "usage_time" SET (fillfactor = 80);
ALTER TABLE "month_total" SET (fillfactor = 80);
