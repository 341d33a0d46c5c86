import { inspect } from 'node:util';

const shown = '[secret]';

/** A text that must not slip into logs, errors or JSON: every way of writing it out gives `[secret]`, but for `reveal`. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the request that needs it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}
