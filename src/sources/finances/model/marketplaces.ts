/** A marketplace of Amazon. */
export interface Marketplace {
  readonly id: string;
  readonly name: string;
  /** Two letters. */
  readonly country: string;
  readonly currency: string;
  /** Of its days. */
  readonly timeZone: string;
}

/** All marketplaces, of North America, Europe with what belongs to it, and the Far East. */
export const marketplaces: readonly Marketplace[] = (
  [
    ['A2EUQ1WTGCTBG2', 'Amazon.ca', 'CA', 'CAD', 'America/Los_Angeles'],
    ['ATVPDKIKX0DER', 'Amazon.com', 'US', 'USD', 'America/Los_Angeles'],
    ['A1AM78C64UM0Y8', 'Amazon.com.mx', 'MX', 'MXN', 'America/Los_Angeles'],
    ['A2Q3Y263D00KWC', 'Amazon.com.br', 'BR', 'BRL', 'America/Sao_Paulo'],
    ['A28R8C7NBKEWEA', 'Amazon.ie', 'IE', 'EUR', 'Europe/Dublin'],
    ['A1RKKUPIHCS9HS', 'Amazon.es', 'ES', 'EUR', 'Europe/Madrid'],
    ['A1F83G8C2ARO7P', 'Amazon.co.uk', 'GB', 'GBP', 'Europe/London'],
    ['A13V1IB3VIYZZH', 'Amazon.fr', 'FR', 'EUR', 'Europe/Paris'],
    ['AMEN7PMS3EDWL', 'Amazon.com.be', 'BE', 'EUR', 'Europe/Brussels'],
    ['A1805IZSGTT6HS', 'Amazon.nl', 'NL', 'EUR', 'Europe/Amsterdam'],
    ['A1PA6795UKMFR9', 'Amazon.de', 'DE', 'EUR', 'Europe/Berlin'],
    ['APJ6JRA9NG5V4', 'Amazon.it', 'IT', 'EUR', 'Europe/Rome'],
    ['A2NODRKZP88ZB9', 'Amazon.se', 'SE', 'SEK', 'Europe/Stockholm'],
    ['AE08WJ6YKNBMC', 'Amazon.co.za', 'ZA', 'ZAR', 'Africa/Johannesburg'],
    ['A1C3SOZRARQ6R3', 'Amazon.pl', 'PL', 'PLN', 'Europe/Warsaw'],
    ['ARBP9OOSHTCHU', 'Amazon.eg', 'EG', 'EGP', 'Africa/Cairo'],
    ['A33AVAJ2PDY3EV', 'Amazon.com.tr', 'TR', 'TRY', 'Europe/Istanbul'],
    ['A17E79C6D8DWNP', 'Amazon.sa', 'SA', 'SAR', 'Asia/Riyadh'],
    ['A2VIGQ35RCS4UG', 'Amazon.ae', 'AE', 'AED', 'Asia/Dubai'],
    ['A21TJRUUN4KGV', 'Amazon.in', 'IN', 'INR', 'Asia/Kolkata'],
    ['A19VAU5U5O7RUS', 'Amazon.sg', 'SG', 'SGD', 'Asia/Singapore'],
    ['A39IBJ37TRP1C6', 'Amazon.com.au', 'AU', 'AUD', 'Australia/Sydney'],
    ['A1VC38T7YXB528', 'Amazon.co.jp', 'JP', 'JPY', 'Asia/Tokyo'],
  ] as const
).map(([id, name, country, currency, timeZone]) => ({ id, name, country, currency, timeZone }));

const idsByCountry: ReadonlyMap<string, string> = new Map(marketplaces.map(({ country, id }) => [country, id]));

/** The id of the marketplace of a country, by its two letters (`UK` for `GB`, too); undefined for any other text. */
export function marketplaceOfCountry(country: string): string | undefined {
  const code = country.toUpperCase();
  return idsByCountry.get(code === 'UK' ? 'GB' : code);
}

/**
 * The id of a marketplace by its name, in any case, with or without its second level (`Amazon.co.jp`, `amazon.jp`, `www.amazon.jp`),
 * or by the id itself. Undefined for another name, such as that of a seller's store.
 */
export function marketplaceNamed(name: string): string | undefined {
  const [, ending] = /^(?:www\.)?amazon\.(?:com?\.)?([a-z]{2,3})$/i.exec(name.trim()) ?? [];
  if (ending === undefined) return marketplaces.find(({ id }) => id === name)?.id;
  return marketplaceOfCountry(ending.toLowerCase() === 'com' ? 'US' : ending);
}
