// Package reserved decides which objects no rule may write, whatever it renders: those that Kanon itself reads in its
// own namespace, and those of which its own installation there consists.
//
//	err := objects.Check(rendered) // a *refusal.InvalidError for a ConfigMap with rules
package reserved
