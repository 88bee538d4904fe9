//! The walk over a parsed template that gives every expression its weight.

use std::collections::BTreeMap;

use minijinja::{
    machinery::{
        Span,
        ast::{BinOpKind, Call, CallArg, Expr, Filter, ForLoop, Stmt, UnaryOpKind},
    },
    value::ValueKind,
};

use super::{Growth, Refusal, Weight, refuse};

/// How deep loops may nest; the walk visits a body twice for each level.
const LOOP_LIMIT: usize = 6;
/// What a number, a boolean or a short text of a filter weighs.
const SHORT: Weight = Weight { contexts: 0, bytes: 64 };
/// What `range` weighs: a thousand numbers.
const RANGE: Weight = Weight { contexts: 0, bytes: 8_000 };

#[derive(Default)]
pub(super) struct Walk<'a> {
    /// Names that the template itself gave; every other name is a value of the context.
    scope: BTreeMap<&'a str, Weight>,
    pub(super) growth: Growth,
    loops: usize,
}

impl<'a> Walk<'a> {
    fn statements(&mut self, statements: &[Stmt<'a>]) -> Result<(), Refusal> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    pub(super) fn statement(&mut self, statement: &Stmt<'a>) -> Result<(), Refusal> {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(_) => Ok(()),
            // The output is counted by the writer, which stops at the output limit.
            Stmt::EmitExpr(emit) => self.weigh(&emit.expr).map(drop),
            Stmt::IfCond(cond) => {
                self.weigh(&cond.expr)?;
                self.statements(&cond.true_body)?;
                self.statements(&cond.false_body)
            }
            Stmt::Set(set) => {
                let weight = self.weigh(&set.expr)?;
                self.bind(&set.target, weight)
            }
            Stmt::WithBlock(with) => {
                let before = self.scope.clone();
                for (target, value) in &with.assignments {
                    let weight = self.weigh(value)?;
                    self.bind(target, weight)?;
                }
                self.statements(&with.body)?;
                self.scope = before;
                Ok(())
            }
            Stmt::ForLoop(each) => self.for_loop(each, each.span()),
            Stmt::SetBlock(block) => {
                refuse(block.span(), "a `set` takes its value after `=`: a body is not available")
            }
            Stmt::FilterBlock(block) => {
                refuse(block.span(), "`filter` blocks are not available: use `|` in `{{ }}`")
            }
            Stmt::AutoEscape(block) => {
                refuse(block.span(), "`autoescape` is not available: HTML is escaped always")
            }
            Stmt::Do(call) => refuse(call.span(), "`do` is not available"),
        }
    }

    fn for_loop(&mut self, each: &ForLoop<'a>, span: Span) -> Result<(), Refusal> {
        if each.recursive {
            return refuse(span, "recursive loops are not available");
        }
        if self.loops == LOOP_LIMIT {
            return refuse(span, format!("loops nest at most {LOOP_LIMIT} deep"));
        }
        let items = self.weigh(&each.iter)?;
        let before = self.scope.clone();
        self.loops += 1;
        self.bind(&each.target, items)?;
        self.scope.insert("loop", items.plus(SHORT));
        if let Some(filter) = &each.filter_expr {
            self.weigh(filter)?;
        }
        self.statements(&each.body)?;
        // A name that is heavier after the second round would be heavier still after each further one.
        let once = self.scope.clone();
        self.statements(&each.body)?;
        if self.scope != once {
            return refuse(span, "a `set` in this loop grows its own value with each round");
        }
        self.loops -= 1;
        self.scope = before;
        self.statements(&each.else_body)
    }

    /// Gives a name a value. The older value may survive in another branch, so that the heavier one counts.
    fn bind(&mut self, target: &Expr<'a>, weight: Weight) -> Result<(), Refusal> {
        match target {
            Expr::Var(var) => {
                let known = self.scope.get(var.id).copied().unwrap_or_default();
                self.scope.insert(var.id, known.or(weight));
                Ok(())
            }
            Expr::List(list) => list.items.iter().try_for_each(|item| self.bind(item, weight)),
            Expr::Tuple(tuple) => tuple.items.iter().try_for_each(|item| self.bind(item, weight)),
            other => refuse(other.span(), "only a plain name can be given a value"),
        }
    }

    /// A value that a filter makes.
    fn made(&mut self, weight: Weight) -> Weight {
        self.growth.largest = self.growth.largest.or(weight);
        weight
    }

    /// A value that an operator makes or goes through, in one step of the engine.
    fn charge(&mut self, weight: Weight) -> Weight {
        self.growth.step = self.growth.step.or(weight);
        self.made(weight)
    }

    fn weigh_all<'e>(&mut self, parts: impl IntoIterator<Item = &'e Expr<'a>>) -> Result<Weight, Refusal>
    where
        'a: 'e,
    {
        let mut sum = Weight::default();
        for part in parts {
            sum = sum.plus(self.weigh(part)?).plus(SHORT);
        }
        Ok(sum)
    }

    fn weigh(&mut self, expr: &Expr<'a>) -> Result<Weight, Refusal> {
        Ok(match expr {
            Expr::Var(var) => {
                // A name that is set in one branch alone may still be the context's in another.
                let context = Weight { contexts: 1, bytes: 0 };
                self.scope.get(var.id).map_or(context, |known| known.or(context))
            }
            Expr::Const(constant) => {
                Weight { contexts: 0, bytes: constant.value.to_string().len() as u64 + SHORT.bytes }
            }
            Expr::Slice(slice) => {
                self.weigh_all([&slice.start, &slice.stop, &slice.step].into_iter().flatten())?;
                let whole = self.weigh(&slice.expr)?;
                self.charge(whole)
            }
            Expr::UnaryOp(unary) => {
                self.weigh(&unary.expr)?;
                SHORT
            }
            Expr::BinOp(_) => self.operator(expr)?,
            Expr::Compare(compare) => {
                let mut heaviest = self.weigh(&compare.expr)?;
                for operand in &compare.ops {
                    heaviest = heaviest.or(self.weigh(&operand.expr)?);
                }
                self.charge(heaviest);
                SHORT
            }
            Expr::IfExpr(choice) => {
                self.weigh(&choice.test_expr)?;
                let no = choice.false_expr.as_ref().map_or(Ok(Weight::default()), |no| self.weigh(no))?;
                self.weigh(&choice.true_expr)?.or(no)
            }
            Expr::Filter(filter) => self.filter(filter, filter.span())?,
            Expr::Test(test) => {
                let tested = self.weigh(&test.expr)?;
                let against = self.arguments(&test.args)?;
                self.charge(tested.or(against));
                SHORT
            }
            Expr::GetAttr(get) => self.weigh(&get.expr)?,
            Expr::GetItem(get) => {
                let key = self.weigh(&get.subscript_expr)?;
                self.charge(key);
                self.weigh(&get.expr)?
            }
            Expr::Call(call) => self.call(call, call.span())?,
            Expr::List(list) => {
                let items = self.weigh_all(&list.items)?;
                self.made(items)
            }
            Expr::Tuple(tuple) => {
                let items = self.weigh_all(&tuple.items)?;
                self.made(items)
            }
            // Keys are compared with each other.
            Expr::Map(map) => {
                let entries = self.weigh_all(map.keys.iter().chain(&map.values))?;
                self.charge(entries)
            }
        })
    }

    fn operator(&mut self, expr: &Expr<'a>) -> Result<Weight, Refusal> {
        let Expr::BinOp(binary) = expr else { return self.weigh(expr) };
        let (left, right) = (self.weigh(&binary.left)?, self.weigh(&binary.right)?);
        Ok(match binary.op {
            _ if is_number(expr) => SHORT,
            BinOpKind::Mul => {
                let detail = "`*` is for numbers: write `price|float * quantity|int`";
                return refuse(binary.span(), detail);
            }
            BinOpKind::Add | BinOpKind::Concat => self.charge(left.plus(right)),
            BinOpKind::ScAnd | BinOpKind::ScOr => left.or(right),
            BinOpKind::Sub | BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem | BinOpKind::Pow => SHORT,
            BinOpKind::Eq
            | BinOpKind::Ne
            | BinOpKind::Lt
            | BinOpKind::Lte
            | BinOpKind::Gt
            | BinOpKind::Gte
            | BinOpKind::In => {
                self.charge(left.or(right));
                SHORT
            }
        })
    }

    fn arguments(&mut self, args: &[CallArg<'a>]) -> Result<Weight, Refusal> {
        let parts = args.iter().map(|arg| match arg {
            CallArg::Pos(expr)
            | CallArg::Kwarg(_, expr)
            | CallArg::PosSplat(expr)
            | CallArg::KwargSplat(expr) => expr,
        });
        self.weigh_all(parts)
    }

    fn call(&mut self, call: &Call<'a>, span: Span) -> Result<Weight, Refusal> {
        let args = self.arguments(&call.args)?;
        match &call.expr {
            Expr::Var(var) if var.id == "range" => Ok(self.charge(RANGE)),
            Expr::GetAttr(get) if matches!(&get.expr, Expr::Var(var) if var.id == "loop") => {
                Ok(self.charge(args))
            }
            _ => refuse(span, "only `range(…)` can be called; for the rest there are filters"),
        }
    }

    fn filter(&mut self, filter: &Filter<'a>, span: Span) -> Result<Weight, Refusal> {
        let value = filter.expr.as_ref().map_or(Ok(Weight::default()), |expr| self.weigh(expr))?;
        let args = self.arguments(&filter.args)?;
        Ok(match filter.name {
            "date" | "time" | "datetime" | "number" => SHORT.times(8),
            "default" | "d" | "first" | "last" => value.or(args),
            "int" | "float" | "round" | "abs" | "bool" | "length" | "count" => SHORT,
            "trim" | "string" | "sort" | "reverse" | "unique" | "list" | "items" | "dictsort" | "groupby"
            | "select" | "reject" | "selectattr" | "rejectattr" | "min" | "max" | "sum" => {
                self.made(value.plus(args))
            }
            "upper" | "lower" | "title" | "capitalize" => self.made(value.times(3)),
            "escape" | "e" | "tojson" => self.made(value.times(6)),
            // Each piece is its own value, even an empty one.
            "split" | "lines" => self.made(value.times(24)),
            "map"
                if filter
                    .args
                    .iter()
                    .all(|arg| matches!(arg, CallArg::Kwarg("attribute" | "default", _))) =>
            {
                self.made(value.plus(args))
            }
            "map" => return refuse(span, "`map` takes `attribute=\"…\"` alone"),
            "join" | "replace" => {
                let inserted = literal_text(filter).unwrap_or(u64::MAX);
                if inserted > 64 {
                    let detail = format!("`{}` inserts a literal text of at most 64 bytes", filter.name);
                    return refuse(span, detail);
                }
                self.made(value.times(1 + inserted))
            }
            name => return refuse(span, format!("there is no filter `{name}`")),
        })
    }
}

/// The length of the text that `join` puts between or `replace` puts in, if it is there as a literal.
fn literal_text(filter: &Filter<'_>) -> Option<u64> {
    let position = usize::from(filter.name == "replace");
    let length = |expr: &Expr<'_>| match expr {
        Expr::Const(constant) => constant.value.as_str().map(|text| text.len() as u64),
        _ => None,
    };
    for arg in &filter.args {
        match arg {
            CallArg::Kwarg("attribute", _) | CallArg::Pos(_) => {}
            CallArg::Kwarg("d", expr) if filter.name == "join" => return length(expr),
            CallArg::Kwarg(..) | CallArg::PosSplat(_) | CallArg::KwargSplat(_) => return None,
        }
    }
    match filter.args.get(position) {
        Some(CallArg::Pos(expr)) => length(expr),
        _ if filter.name == "join" => Some(0),
        _ => None,
    }
}

/// Whether an expression gives a number whatever the values are; other operands make it fail instead.
fn is_number(expr: &Expr<'_>) -> bool {
    match expr {
        Expr::Const(constant) => constant.value.kind() == ValueKind::Number,
        Expr::Filter(filter) => {
            matches!(filter.name, "int" | "float" | "round" | "abs" | "length" | "count")
        }
        Expr::UnaryOp(unary) => matches!(unary.op, UnaryOpKind::Neg),
        Expr::BinOp(binary) => match binary.op {
            BinOpKind::Sub | BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem | BinOpKind::Pow => true,
            BinOpKind::Add | BinOpKind::Mul => is_number(&binary.left) && is_number(&binary.right),
            _ => false,
        },
        _ => false,
    }
}
