//! Enums whose variants a table declares: one row per variant, in their order.

/// The variants in the rows of a constant table, as a constant array; a table in another order than the enum does not compile.
///
/// ```
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// enum Fruit { Apple, Pear }
/// struct Row { fruit: Fruit, name: &'static str }
/// const FRUITS: [Row; 2] =
///     [Row { fruit: Fruit::Apple, name: "apple" }, Row { fruit: Fruit::Pear, name: "pear" }];
/// impl Fruit {
///     const ALL: [Self; FRUITS.len()] = supple_core::all_declared!(FRUITS, fruit);
///     fn name(self) -> &'static str { FRUITS[self as usize].name }
/// }
/// assert_eq!(Fruit::ALL.map(Fruit::name), ["apple", "pear"]);
/// ```
#[macro_export]
macro_rules! all_declared {
    ($table:ident, $field:ident) => {{
        let mut all = [$table[0].$field; $table.len()];
        let mut row = 0;
        while row < all.len() {
            all[row] = $table[row].$field;
            assert!(all[row] as usize == row, "the rows are not in the order of the variants");
            row += 1;
        }
        all
    }};
}
