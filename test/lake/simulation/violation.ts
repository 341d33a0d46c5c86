/** Something that must hold doesn't. */
export class Violation extends Error {}
