// Package reach checks what a rule may reach, as far as its text shows: the namespace of its source, for a tenant's rule that is
// confined to it; objects that grant rights, which need allowPrivileged; and parents that no rule may delete. The engine and the API
// server refuse the rest when the rule runs.
//
//	r := reach.Reach{Reporter: reporter, Rule: rule, Namespace: "team-a", Confined: true}
//	r.CheckPlace(p)
//	r.Confine("child web", gvk, namespaced, template, namespace)
//
// Package privilege knows which kinds grant rights.
package reach
