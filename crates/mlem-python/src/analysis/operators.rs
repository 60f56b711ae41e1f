//! What operators give.

use ruff_python_ast::{self as ast, Operator};

use super::names::TypeId;
use super::{Pass, Value};

impl<'a> Pass<'a> {
    pub(super) fn arithmetic(
        &mut self,
        left: Option<TypeId>,
        op: Operator,
        right: Option<TypeId>,
    ) -> Option<TypeId> {
        let left_name = left.map(|ty| self.names.type_name(ty));
        let right_name = right.map(|ty| self.names.type_name(ty));
        if op == Operator::Mod && left_name == Some("str") {
            return left;
        }
        // pandas answers for both sides, numpy for arrays and scalars.
        for owner in ["pandas.DataFrame", "pandas.Series"] {
            if left_name == Some(owner) {
                return left;
            }
            if right_name == Some(owner) && left_name.is_some() {
                return right;
            }
        }
        let (left_name, right_name) = (left_name?, right_name?);
        let number = |name: &str| matches!(name, "int" | "float" | "bool");
        let result = match (left_name, right_name) {
            ("numpy.ndarray", other) if number(other) || other == "numpy.ndarray" => "numpy.ndarray",
            (other, "numpy.ndarray") if number(other) => "numpy.ndarray",
            ("int" | "bool", "int" | "bool") => match op {
                Operator::Div => "float",
                // A negative exponent gives a float.
                Operator::Pow => return None,
                _ => "int",
            },
            (a, b) if number(a) && number(b) => "float",
            ("str", "str") if op == Operator::Add => "str",
            ("str", "int") | ("int", "str") if op == Operator::Mult => "str",
            ("list", "list") if op == Operator::Add => {
                return if left == right { left } else { self.named_type("list").ty };
            }
            ("list", "int") if op == Operator::Mult => return left,
            ("int", "list") if op == Operator::Mult => return right,
            ("set", "set") => return left,
            ("datetime.datetime", "datetime.datetime") if op == Operator::Sub => "datetime.timedelta",
            ("datetime.datetime", "datetime.timedelta") => "datetime.datetime",
            _ => return None,
        };
        self.named_type(result).ty
    }

    pub(super) fn compare(&mut self, compare: &'a ast::ExprCompare) -> Value {
        let left = self.expression(&compare.left);
        let right: Vec<Value> = compare.comparators.iter().map(|e| self.expression(e)).collect();
        let identity = compare
            .ops
            .iter()
            .all(|op| matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::In | ast::CmpOp::NotIn));
        if identity {
            return self.named_type("bool");
        }
        let sides: Vec<Option<&str>> =
            std::iter::once(&left).chain(&right).map(|value| self.type_name(*value)).collect();
        for owner in ["pandas.DataFrame", "pandas.Series", "numpy.ndarray"] {
            if sides[0] == Some(owner) {
                return left;
            }
        }
        let plain = |ty: &Option<&str>| {
            matches!(ty, Some("int" | "float" | "str" | "bool" | "NoneType" | "list" | "tuple"))
        };
        if sides.iter().all(plain) { self.named_type("bool") } else { Value::UNKNOWN }
    }
}
