/** One result as it is sent: an event with the name of its list, or a result of another kind, whose `list` is empty. */
export interface BackendItem {
  /** Such as `ShipmentEventList`. */
  readonly list: string;
  /** The result's JSON, UTF-8. */
  readonly json: string;
}

export interface BackendPage {
  readonly items: readonly BackendItem[];
  /**
   * Cursor of the next page; undefined after the last one. Opaque to the server. It names the last item delivered, not
   * an offset, so that items added meanwhile neither shift nor repeat others.
   */
  readonly next: string | undefined;
}

export interface BackendQuery {
  /** `next` of the previous page of the same question; undefined for the first page. */
  readonly cursor: string | undefined;
  /** Largest number of items, 1 to 500. */
  readonly limit: number;
  /** The instant of the chain's first request, milliseconds since 1970. Later events are left out. */
  readonly asOf: number;
}
