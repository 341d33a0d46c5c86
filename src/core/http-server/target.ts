export interface Target {
  /** The host that an absolute-form target names, with its port; undefined in origin form. */
  readonly authority: string | undefined;
  /** As it stands in the address, percent-encoded. */
  readonly path: string;
  /** What follows the first question mark, percent-encoded; '' where nothing does. */
  readonly query: string;
}

/** A request line's target, in origin form or a whole address (RFC 9112, sections 3.2.1 and 3.2.2). Never throws. */
export function targetOf(text: string): Target {
  const [start = '', host] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? [];
  const local = text.slice(start.length);
  const mark = local.indexOf('?');
  const path = mark < 0 ? local : local.slice(0, mark);
  return {
    // A user and a password before the host are no part of its name.
    authority: host?.slice(host.lastIndexOf('@') + 1),
    path: path === '' && host !== undefined ? '/' : path,
    query: mark < 0 ? '' : local.slice(mark + 1),
  };
}
