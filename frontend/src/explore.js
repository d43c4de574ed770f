// The labelling page.
export function explore() {}
