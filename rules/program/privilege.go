package program

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LabelRules is the label of ConfigMaps that contain rules.
const LabelRules = "kanon.dev/rules"

// PrivilegeOfKind says why all objects of a kind grant rights. It is empty if the kind alone does not decide.
func PrivilegeOfKind(kind schema.GroupKind) (reason string) {
	if reason, ok := privilegedGroups()[kind.Group]; ok {
		return reason
	}
	return privilegedKinds()[kind]
}

// PrivilegeOfObject says why an object grants rights; empty if it does not.
func PrivilegeOfObject(object *unstructured.Unstructured) (reason string) {
	kind := object.GroupVersionKind().GroupKind()
	if reason := PrivilegeOfKind(kind); reason != "" {
		return reason
	}
	switch kind {
	case schema.GroupKind{Kind: "Secret"}:
		switch text, _, _ := unstructured.NestedString(object.Object, "type"); corev1.SecretType(text) {
		case corev1.SecretTypeServiceAccountToken:
			return "it is a token of a ServiceAccount"
		case corev1.SecretTypeBootstrapToken:
			return "it is a token for nodes"
		}
	case schema.GroupKind{Kind: "ConfigMap"}:
		if _, ok := object.GetLabels()[LabelRules]; ok {
			return "it contains rules"
		}
	}
	return ""
}

// privilegedGroups are the API groups whose kinds all grant rights.
func privilegedGroups() map[string]string {
	return map[string]string{
		"rbac.authorization.k8s.io":    "it grants rights",
		"admissionregistration.k8s.io": "it decides about the requests of others",
		"apiregistration.k8s.io":       "it answers requests of others",
		"kanon.dev":                    "it is a rule",
		"authorization.openshift.io":   "it grants rights",
		"security.openshift.io":        "it grants rights",
		"oauth.openshift.io":           "it decides who others are",
		"user.openshift.io":            "it decides who others are",
	}
}

// privilegedKinds are single kinds, of other groups, that grant rights.
func privilegedKinds() map[schema.GroupKind]string {
	return map[schema.GroupKind]string{
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:           "it defines kinds for the whole cluster",
		{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:           "it asks for an identity",
		{Group: "certificates.k8s.io", Kind: "PodCertificateRequest"}:               "it asks for an identity",
		{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:                  "it says whom others trust",
		{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                 "it decides whose requests are served",
		{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}: "it decides whose requests are served",
	}
}

// PrivilegeError refuses the write of an object that grants rights, because the rule may not write such objects.
type PrivilegeError struct {
	// Object names the object, such as "Secret team-a/token". Because is a reason from OfObject.
	Object, Because string
}

func (e *PrivilegeError) Error() string {
	return e.Object + " is not written, because " + e.Because + ", and the rule does not say allowPrivileged: true"
}

// Reason returns the reason of a condition, and true: retrying is useless until somebody changes something.
func (e *PrivilegeError) Reason() (reason string, stalled bool) { return "Forbidden", true }
