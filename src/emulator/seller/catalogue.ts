import type { NonEmpty } from './seeded-random.js';

/** One string in several spellings of JSON, quotes included: they differ in their escapes and mean the same. */
export type Spellings = NonEmpty<string>;

/** The spelling with as few escapes as JSON allows, and the one in plain ASCII, with surrogate pairs as two escapes. */
export function spellings(text: string): Spellings {
  const plain = JSON.stringify(text);
  const ascii = plain
    .replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replaceAll('/', '\\/');
  return ascii === plain ? [plain] : [plain, ascii];
}

function all(first: string, ...rest: string[]): NonEmpty<Spellings> {
  return [spellings(first), ...rest.map(spellings)];
}

export const stores = {
  USD: all('Northwind Outdoor', 'Müller & Söhne "Radhaus"', 'Café Olé ☕', 'Pixel Pantry 🛒'),
  CAD: all('Érable & Fils', 'Northwind Outdoor Canada', 'Boutique « Chez Zoé »'),
  MXN: all('Tienda El Niño', 'Peña Artesanías 🌵'),
  JPY: all('山田商店', 'ノースウィンド・アウトドア 東京店', 'Yamada Shōten'),
} as const;

export interface Product {
  readonly sku: Spellings;
  readonly fnSku: string;
  readonly asin: string;
  readonly title: Spellings;
}

const titles = all(
  'Fahrradklingel „Glöckchen“, Messing',
  'Camping mug 0.3 l, enamel',
  'Thé vert à la menthe, 100 g',
  'LED lamp 7" / 180 mm',
  '折りたたみ傘 (ブラック)',
  'Sticker set 😀🎉, 50 pcs',
  'Backslash \\ poster, 50 × 70 cm',
  'Jalapeños en escabeche, 400 g',
  'Rope\tø 8 mm,\n20 m',
  'Kids’ puzzle “Zoë’s Zoo”',
  'USB-C cable, 2 m',
  'Smörgås knife, olive wood',
);
const codes: NonEmpty<string> = [
  'GLÖCK',
  'MUG',
  'THÉ',
  'LAMP/7',
  '傘',
  'STK',
  'PO\\ST',
  'JALA',
  'ROPE',
  'ZOË"',
  'USB',
  'SMÖR',
];
const sizes = ['S', 'M', 'L', 'XL', '2-PK', '6-PK', 'B', 'EU'];

/** The seller's range: every title in eight sizes. */
export const products: NonEmpty<Product> = (() => {
  const [first, ...rest] = sizes.flatMap((size, s) =>
    codes.map((code, c): Product => {
      const number = (s * codes.length + c + 1) * 7919;
      return {
        sku: spellings(`${code}-${size}`),
        fnSku: `X00${number.toString(36).toUpperCase().padStart(7, '1')}`,
        asin: `B0${(number * 104_729).toString(36).toUpperCase().padStart(8, '0').slice(-8)}`,
        title: titles[c] ?? titles[0],
      };
    }),
  );
  if (first === undefined) throw new Error('A seller has products');
  return [first, ...rest];
})();

export const descriptions = {
  coupon: all('10 % off – nur heute!', 'Spare 5 € \\ save $5', '夏セール 20%オフ', 'Back to school 🎒'),
  deal: all('Lightning deal: mugs', 'Blitzangebot „Glöckchen“', 'Oferta relámpago'),
  service: all('Other Support Service fees', 'Account manager, 1 month', 'Réétiquetage (par unité)'),
  capacity: all('FBA Inventory Fee', 'Reserved capacity: standard-size', 'Kapazität / Übergröße'),
  fee: all('Monthly storage: standard-size', 'Long-term storage, > 271 days', 'Étiquetage « unité »'),
  instrument: all('Visa', 'Mastercard', 'Girokonto Sparkasse Köln', 'Bank account'),
  payment: all('Pay with account: order', 'Zahlung für Bestellung', 'お支払い'),
  refundReason: all('Subscription fee was charged twice', 'Gebühr zurückgebucht', 'Promotional "first month" credit'),
  provider: all('Helfer & Co. GmbH', 'Label Partners / West', '物流パートナー株式会社'),
} as const;
