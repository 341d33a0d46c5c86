/** Imports of `.sql` and `.md` files are their texts, as in what `npm run build` writes. */
export const sqlTexts = {
  name: 'sql-texts',
  transform: (code: string, id: string) =>
    /\.(?:sql|md)$/.test(id) ? { code: `export default ${JSON.stringify(code)};`, map: null } : undefined,
};
