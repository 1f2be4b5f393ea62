/** Pixels left of everything that is drawn over time, so that all of it stands in line. */
export const LEFT = 56;
