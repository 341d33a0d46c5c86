/** Imports of `.sql` files are their texts, as in what `npm run build` writes. */
export const sqlTexts = {
  name: 'sql-texts',
  transform: (code: string, id: string) =>
    id.endsWith('.sql') ? { code: `export default ${JSON.stringify(code)};`, map: null } : undefined,
};
