// Package inquiry finds the rules that write to an object, and why its fields have their values. It changes nothing.
//
//	q := inquiry.New(inquiry.Options{Client: client, Kinds: kinds, Rules: ruleset, Namespace: "kanon-system", Now: time.Now()})
//	explanation, err := q.Explain(ctx, deployment)
//
// A rule writes to an object in three ways, and each leaves a trace. The mark of a child names the rule, the parent and
// the child in the rule (parents.go). A field manager names the patch of a rule. A rule writes to the status of the
// parents that it selects. For each parent found, package livepreview evaluates the rule with the objects of the
// cluster, and package provenance explains the result.
package inquiry
