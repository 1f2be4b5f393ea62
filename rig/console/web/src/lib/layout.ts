/** Pixels left of everything that is drawn over time, so that all of it stands in line. */
export const LEFT = 56;
/** Pixels right of it: room for half of the last word on the time axis. */
export const RIGHT = 18;
