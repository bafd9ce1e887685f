package syntax

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/yamltree"
)

// Kinds lists the kinds that the rule names, each once. Compile looks these up.
func (r *Rule) Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	add := func(gvk schema.GroupVersionKind) {
		if gvk.Kind != "" && !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	add(r.Parent.GVK)
	for i := range r.Lookups {
		add(r.Lookups[i].GVK)
	}
	for i := range r.Children {
		if template := r.Children[i].Template; template != nil {
			add(TemplateGVK(template))
		}
	}
	for i := range r.Patches {
		if target := r.Patches[i].Target; target != nil {
			add(target.GVK)
		}
	}
	return kinds
}

// TemplateGVK is the kind of a template. It is empty if that is not constant or has a mistake.
func TemplateGVK(template *yamltree.Node) schema.GroupVersionKind {
	apiVersion, _ := template.Get("apiVersion").Text()
	kind, _ := template.Get("kind").Text()
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || apiVersion == "" || kind == "" || yamltree.HasExpression(kind) {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(kind)
}

// IsBuiltIn reports whether an API group belongs to Kubernetes itself.
func IsBuiltIn(group string) bool {
	switch group {
	case "", "apps", "autoscaling", "batch", "policy",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io":
		return true
	}
	return false
}

// IsSecret reports whether a kind is Secret.
func IsSecret(gvk schema.GroupVersionKind) bool { return gvk.Group == "" && gvk.Kind == "Secret" }

// HasSecrets reports whether a rule reads, creates or patches Secrets, or has them as parents.
func (r *Rule) HasSecrets() bool { return slices.ContainsFunc(r.Kinds(), IsSecret) }
