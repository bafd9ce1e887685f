// Package identity checks which objects the templates of a rule render: their kind, name and namespace, and other
// metadata whose format the API server validates, such as labels. Two children, or two items of a child, must not be
// the same object. A name must not change with the clock or be random, since each change is another object. A child
// must not be a parent of the same rule.
//
//	gvk := identity.Kind(reporter, spec)
//	identity.CheckMetadata(reporter, spec, gvk.GroupKind(), true)
//	identity.CheckSame(reporter, rule, p)
//
// What each file does:
//
//	metadata.go  the kind, and metadata that a template must not set
//	names.go     names and labels that the API server refuses
//	same.go      two templates that are the same object, and children that are parents
//	items.go     a forEach whose items are all one object; package program finds two that turn out the same
//	steady.go    names that change with the clock or are random
package identity
