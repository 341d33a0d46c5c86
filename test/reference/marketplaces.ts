/** The ids of marketplaces by what follows `Amazon.` in their names, without `co.` and `com.`. */
const ids: Readonly<Record<string, string>> = {
  com: 'ATVPDKIKX0DER',
  ca: 'A2EUQ1WTGCTBG2',
  mx: 'A1AM78C64UM0Y8',
  br: 'A2Q3Y263D00KWC',
  ie: 'A28R8C7NBKEWEA',
  es: 'A1RKKUPIHCS9HS',
  uk: 'A1F83G8C2ARO7P',
  fr: 'A13V1IB3VIYZZH',
  be: 'AMEN7PMS3EDWL',
  nl: 'A1805IZSGTT6HS',
  de: 'A1PA6795UKMFR9',
  it: 'APJ6JRA9NG5V4',
  se: 'A2NODRKZP88ZB9',
  za: 'AE08WJ6YKNBMC',
  pl: 'A1C3SOZRARQ6R3',
  eg: 'ARBP9OOSHTCHU',
  tr: 'A33AVAJ2PDY3EV',
  sa: 'A17E79C6D8DWNP',
  ae: 'A2VIGQ35RCS4UG',
  in: 'A21TJRUUN4KGV',
  sg: 'A19VAU5U5O7RUS',
  au: 'A39IBJ37TRP1C6',
  jp: 'A1VC38T7YXB528',
};

/** The id of a marketplace by its own field, or the country's, and else by the names, of which the first known one decides. */
export function marketplaceIdOf(names: readonly (string | null)[], code: string | null = null): string | null {
  if (code !== null && code.length > 2) return code;
  const country = code?.toLowerCase();
  const known = new Map([
    ...Object.entries(ids).filter(([ending]) => ending !== 'com'),
    ['us', ids['com'] ?? ''],
    ['gb', ids['uk'] ?? ''],
  ]);
  const ofCountry = country === undefined ? undefined : known.get(country);
  const ofNames = names.map((name) => {
    if (name !== null && Object.values(ids).includes(name)) return name;
    const [site, ...parts] = (name ?? '')
      .trim()
      .toLowerCase()
      .replace(/^www\./, '')
      .split('.');
    const rest = parts.length === 2 && ['co', 'com'].includes(parts[0] ?? '') ? parts.slice(1) : parts;
    const [ending = ''] = rest;
    return site === 'amazon' && rest.length === 1 && Object.hasOwn(ids, ending)
      ? ids[ending]
      : known.get(site === 'amazon' && rest.length === 1 ? ending : '');
  });
  return ofCountry ?? ofNames.find((id) => id !== undefined) ?? null;
}
