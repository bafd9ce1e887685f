// Package inquiry asks a cluster which rules write to an object, and why its fields have their values. It changes nothing.
//
//	q := inquiry.New(inquiry.Options{Client: client, Kinds: kinds, Rules: ruleset, Namespace: "kanon-system", Now: time.Now()})
//	explanation, err := q.Explain(ctx, deployment)
//
// A rule writes to an object in three ways, and each leaves a trace: the mark of a child names the rule, the parent and the child of the
// rule (parents.go); a field manager names the patch of a rule; and a rule writes to the status of the parents that it selects. For each
// parent found, the rule is evaluated with the objects of the cluster (package livepreview), and package provenance says the rest.
package inquiry
