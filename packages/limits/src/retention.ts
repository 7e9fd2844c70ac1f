/** How many UTC days metering keeps what it has counted. Usage by the day stays. */
export const KEPT_DAYS = {
  /** Request rows. Within this time a duplicate is recognized. */
  requests: 35,
  refusals: 35,
  /** Usage by the hour. Today is one of them. */
  usageHours: 8,
} as const;
