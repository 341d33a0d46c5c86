import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import { type Draw, inTurn, type NonEmpty } from './seeded-random.js';
import {
  createEvenDensity,
  onceEach,
  marketplaceIn,
  percent,
  type LoanEvent,
  type SellerMarketplace,
  type Order,
  type OrderItem,
  type Product,
  type Profile,
  type Spellings,
} from './seller-profile.js';

/**
 * The JSON of a text in two spellings: with as few escapes as JSON allows, and in plain ASCII, with surrogate pairs as
 * two escapes.
 */
function spellings(text: string): Spellings {
  const plain = JSON.stringify(text);
  const ascii = plain
    .replace(/[\u007f-\uffff]/g, (codeUnit) => `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replaceAll('/', '\\/');
  return ascii === plain ? [plain] : [plain, ascii];
}

function all(first: string, ...rest: string[]): NonEmpty<Spellings> {
  return [spellings(first), ...rest.map(spellings)];
}

const articles: NonEmpty<readonly [code: string, title: string]> = [
  ['GLÖCK', 'Fahrradklingel „Glöckchen“, Messing'],
  ['MUG', 'Camping mug 0.3 l, enamel'],
  ['THÉ', 'Thé vert à la menthe, 100 g'],
  ['LAMP/7', 'LED lamp 7" / 180 mm'],
  ['傘', '折りたたみ傘 (ブラック)'],
  ['STK', 'Sticker set 😀🎉, 50 pcs'],
  ['PO\\ST', 'Backslash \\ poster, 50 × 70 cm'],
  ['JALA', 'Jalapeños en escabeche, 400 g'],
  ['ROPE', 'Rope\tø 8 mm,\n20 m'],
  ['ZOË"', 'Kids’ puzzle “Zoë’s Zoo”'],
  ['USB', 'USB-C cable, 2 m'],
  ['SMÖR', 'Smörgås knife, olive wood'],
];
const sizes = ['S', 'M', 'L', 'XL', '2-PK', '6-PK', 'B', 'EU'];

/** The seller's products: every article in eight sizes. */
const products: NonEmpty<Product> = (() => {
  const [first, ...rest] = sizes.flatMap((size, s) =>
    articles.map(([code, title], n): Product => {
      const number = (s * articles.length + n + 1) * 7919;
      return {
        sku: spellings(`${code}-${size}`),
        fnSku: `X00${number.toString(36).toUpperCase().padStart(7, '1')}`,
        asin: `B0${(number * 104_729).toString(36).toUpperCase().padStart(8, '0').slice(-8)}`,
        title: spellings(title),
      };
    }),
  );
  if (first === undefined) throw new Error('A seller has products');
  return [first, ...rest];
})();

const descriptions = {
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

const dollar = marketplaceIn('USD', {
  index: 0,
  level: 1,
  stores: all('Northwind Outdoor', 'Müller & Söhne "Radhaus"', 'Café Olé ☕', 'Pixel Pantry 🛒'),
});
const canadian = marketplaceIn('CAD', {
  index: 1,
  level: 1,
  stores: all('Érable & Fils', 'Northwind Outdoor Canada', 'Boutique « Chez Zoé »'),
});
const peso = marketplaceIn('MXN', { index: 2, level: 17, stores: all('Tienda El Niño', 'Peña Artesanías 🌵') });
const yen = marketplaceIn('JPY', {
  index: 3,
  level: 1,
  stores: all('山田商店', 'ノースウィンド・アウトドア 東京店', 'Yamada Shōten'),
});

/** The marketplace of an order by 32 random bits: of 32 orders 18 are in dollars. */
function marketplaceOf(bits: number): SellerMarketplace {
  const share = bits >>> 27;
  return share < 18 ? dollar : share < 24 ? canadian : share < 28 ? peso : yen;
}

const blockCounts: ReadonlyMap<EventListName, number> = new Map([
  ['ShipmentEventList', 68],
  ['RefundEventList', 10],
  ['ServiceFeeEventList', 6],
  ['AdjustmentEventList', 4],
  ['ProductAdsPaymentEventList', 2],
  ['CouponPaymentEventList', 2],
  ...onceEach,
]);

function itemOf(draw: Draw, marketplace: SellerMarketplace, taxRate: number, isFulfilled: boolean): OrderItem {
  const quantity = draw.oneIn(6) ? draw.between(2, 5) : 1;
  const price = draw.oneIn(12) ? draw.between(10, 90) * 1000 : draw.between(4, 60) * 100 - draw.pick([1, 5, 50]);
  const principal = price * marketplace.level * quantity;
  const shipping = draw.oneIn(5) ? draw.between(199, 899) * marketplace.level : 0;
  const promotion = draw.oneIn(6) ? -percent(principal, draw.between(5, 20)) : 0;
  return {
    product: draw.pick(products),
    orderItemId: draw.digits(14),
    quantity,
    principal,
    tax: percent(principal, taxRate),
    shipping,
    shippingTax: percent(shipping, taxRate),
    giftwrap: draw.oneIn(20) ? 399 * marketplace.level : 0,
    promotion,
    promotionId: promotion === 0 ? '' : draw.code(10),
    commission: -percent(principal + shipping, draw.pick([8, 12, 15])),
    fulfilment: isFulfilled ? -draw.between(250, 990) * marketplace.level * quantity : 0,
    digitalServices: 0,
    points: marketplace.currency === 'JPY' ? -percent(principal, 1) : draw.oneIn(8) ? -draw.between(1, 99) : 0,
  };
}

function drawOrder(draw: Draw, marketplace: SellerMarketplace): Order {
  const facilitated = draw.below(4) > 0;
  const sellerOrderId = draw.oneIn(10) ? `WEB-${draw.digits(7)}` : undefined;
  const taxRate = draw.pick([0, 5, 7, 8, 10, 16]);
  const isFulfilled = draw.below(3) > 0;
  const first = itemOf(draw, marketplace, taxRate, isFulfilled);
  if (!draw.oneIn(5)) return { facilitated, sellerOrderId, items: [first] };
  const more = Array.from({ length: draw.between(1, 2) }, () => itemOf(draw, marketplace, taxRate, isFulfilled));
  return { facilitated, sellerOrderId, items: [first, ...more] };
}

const loanTypes = ['LoanPayment', 'LoanAdvance', 'LoanRefund'] as const;

function drawLoan(draw: Draw, block: number): LoanEvent {
  const type = inTurn(block, loanTypes);
  const cents = type === 'LoanAdvance' ? draw.between(500_000, 25_000_000) : draw.between(1000, 90_000);
  return { type, cents: type === 'LoanPayment' ? -cents : cents };
}

/**
 * A seller for tests, with many occurrences of everything that a client must handle. Its amounts are drawn for variety
 * and don't add up to a business.
 */
export const edgeCases: Profile = {
  marketplaces: [dollar, canadian, peso, yen],
  oddities: true,
  products,
  descriptions,
  marketplaceOf,
  blockCounts: () => blockCounts,
  density: createEvenDensity,
  drawOrder,
  drawLoan,
  isCarriedOver: () => false,
  openingCents: (bits) => {
    if (bits % 2 === 0) return 0;
    const cents = (bits >>> 8) % 500_000;
    return bits % 8 === 1 ? -cents : cents;
  },
};
