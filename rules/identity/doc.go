// Package identity checks which objects the templates of a rule are: their kind, name and namespace, and what else of metadata the
// API server judges by its form, such as labels. Two children, or two items of a child, must not be the same object; a name must not
// change with the clock or at random, since each change is another object; and a child must not be a parent of the same rule.
//
//	gvk := identity.Kind(reporter, spec)
//	identity.CheckMetadata(reporter, spec, gvk.GroupKind(), true)
//	identity.CheckSame(reporter, rule, p)
package identity
