package rulefiles

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/rules/program/template"
)

// limitsGroup is the heading of the limits in help texts. They are grouped because few callers need them.
const limitsGroup = "Limits of evaluation"

// AddLimits declares the flags for the limits of an evaluation.
func AddLimits(flags *pflag.FlagSet, l *template.Limits) {
	commandline.AddGroup(flags, limitsGroup, func(flags *pflag.FlagSet) { declareLimits(flags, l) })
}

func declareLimits(flags *pflag.FlagSet, l *template.Limits) {
	flags.Uint64Var(&l.ExpressionCost, "max-expression-cost", template.DefaultExpressionCost, "the most that one expression may cost, in CEL's units: about one for each call and turn of a loop")
	flags.Uint64Var(&l.ReconcileCost, "max-reconcile-cost", template.DefaultReconcileCost, "the most that all expressions of one evaluation of a rule may cost together")
	flags.DurationVar(&l.Deadline, "max-evaluation-time", template.DefaultDeadline, "how long expressions may take between two writes")
	flags.IntVar(&l.Children, "max-children", template.DefaultChildren, "the most children that a rule may make for one parent")
	flags.IntVar(&l.ObjectBytes, "max-object-bytes", template.DefaultObjectBytes, "the most bytes that a rendered object may have, with what the API server records of its fields")
	flags.Int64Var(&l.ReconcileBytes, "max-reconcile-bytes", template.DefaultReconcileBytes, "the most bytes that variables, items and what is rendered may take in one evaluation of a rule, all together")
	flags.IntVar(&l.ListLength, "max-list-length", template.DefaultListLength, "the longest list that forEach may go over, or that an expression may put into an object")
}

// CheckLimits checks the values of these flags. No limit can be disabled.
func CheckLimits(l template.Limits) error {
	var wrong []string
	for _, flag := range []struct {
		name string
		ok   bool
	}{
		{"max-expression-cost", l.ExpressionCost > 0},
		{"max-reconcile-cost", l.ReconcileCost > 0},
		{"max-evaluation-time", l.Deadline > 0},
		{"max-children", l.Children > 0},
		{"max-object-bytes", l.ObjectBytes > 0},
		{"max-reconcile-bytes", l.ReconcileBytes > 0},
		{"max-list-length", l.ListLength > 0},
	} {
		if !flag.ok {
			wrong = append(wrong, fmt.Sprintf("--%s must be more than 0", flag.name))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
