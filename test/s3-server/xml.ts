/** An XML document's content: texts, elements by name, and lists of elements of one name. */
export type Content = string | number | boolean | { readonly [name: string]: Content | readonly Content[] | undefined };

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** One element with what is in it. */
export function xml(name: string, content: Content): string {
  const inner =
    typeof content === 'object'
      ? Object.entries(content)
          .flatMap(([child, value]) =>
            value === undefined ? [] : isList(value) ? value.map((one) => xml(child, one)) : [xml(child, value)],
          )
          .join('')
      : String(content).replaceAll(/[&<>"]/g, (sign) => escapes[sign] ?? sign);
  return `<${name}>${inner}</${name}>`;
}

function isList(value: Content | readonly Content[]): value is readonly Content[] {
  return Array.isArray(value);
}
