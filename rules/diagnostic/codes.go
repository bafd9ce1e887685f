package diagnostic

// Code is the kind of mistake that a finding reports; docs/findings.md explains each one.
// A code keeps its meaning forever, and a retired code is not used again.
type Code string

// What can be found in the text of a source.
const (
	CodeNotYAML       Code = "KN0001"
	CodeNotMapping    Code = "KN0002"
	CodeNoKind        Code = "KN0003"
	CodeForeignKind   Code = "KN0004"
	CodeAPIVersion    Code = "KN0005"
	CodeBrokenCRD     Code = "KN0006"
	CodeDuplicateKey  Code = "KN0007"
	CodeBadScalar     Code = "KN0008"
	CodeBadKey        Code = "KN0009"
	CodeBadMerge      Code = "KN0010"
	CodeEndlessAlias  Code = "KN0011"
	CodeTooDeep       Code = "KN0012"
	CodeTooManyValues Code = "KN0013"
	CodeMoreErrors    Code = "KN0014"
	CodeMoreWarnings  Code = "KN0015"
	CodeTooManyDocs   Code = "KN0016"
	CodeRefusedCRD    Code = "KN0017"
)

// What can be found in the fields of a rule.
const (
	CodeUnknownField     Code = "KN0101"
	CodeMissingField     Code = "KN0102"
	CodeFieldType        Code = "KN0103"
	CodeStrayExpression  Code = "KN0104"
	CodeEmpty            Code = "KN0105"
	CodeObjectName       Code = "KN0106"
	CodeConditionPrefix  Code = "KN0107"
	CodeSelector         Code = "KN0108"
	CodeGroupVersion     Code = "KN0109"
	CodeParentNamespaces Code = "KN0110"
	CodeConditionType    Code = "KN0111"
	CodeReason           Code = "KN0112"
	CodeNotOneOf         Code = "KN0113"
	CodeDuration         Code = "KN0114"

	CodeIgnorePath     Code = "KN0130"
	CodeIgnoreIdentity Code = "KN0131"
	CodeIgnoreTwice    Code = "KN0132"
)

// What can be found in how a child is to be written.
const (
	CodeIdleCondition  Code = "KN0140"
	CodeRandomIdentity Code = "KN0141"
)

// What can be found in names and in what refers to them.
const (
	CodeUnusableName    Code = "KN0201"
	CodeReservedName    Code = "KN0202"
	CodeNameTwice       Code = "KN0203"
	CodeUnknownName     Code = "KN0204"
	CodeUnknownFunction Code = "KN0205"
	CodeUnknownChild    Code = "KN0206"
	CodeUnknownVariable Code = "KN0207"
	CodeNoMember        Code = "KN0208"
	CodeOutOfScope      Code = "KN0209"
	CodeUnknownLookup   Code = "KN0210"
	CodeLookupForm      Code = "KN0211"
	CodeNotPaired       Code = "KN0212"
)

// What can be found in expressions.
const (
	CodeNotClosed       Code = "KN0301"
	CodeEmptyExpression Code = "KN0302"
	CodeSyntax          Code = "KN0303"
	CodeTypes           Code = "KN0304"
	CodeResultType      Code = "KN0305"
	CodeNotText         Code = "KN0306"
	CodeStraySpread     Code = "KN0307"
	CodeNotExpression   Code = "KN0308"
	CodeBadConstant     Code = "KN0309"
	CodeEnvironment     Code = "KN0310"
	CodeMovingTime      Code = "KN0311"
	CodeUnknownStatus   Code = "KN0312"
	CodeTooCostly       Code = "KN0313"
	CodeLooksLike       Code = "KN0314"
	CodeUnknownPath     Code = "KN0320"
	CodeNeverEqual      Code = "KN0321"
	CodeConstant        Code = "KN0322"
	CodeOptionalField   Code = "KN0323"
)

// What can be found in kinds and templates.
const (
	CodeUnknownKind       Code = "KN0401"
	CodeUncheckedKind     Code = "KN0402"
	CodeUnusableKind      Code = "KN0403"
	CodeIncomplete        Code = "KN0404"
	CodeTemplateType      Code = "KN0405"
	CodeGenerateName      Code = "KN0406"
	CodeServerField       Code = "KN0407"
	CodeNamespaceForbid   Code = "KN0408"
	CodeNamespaceRequired Code = "KN0409"
	CodeSameObject        Code = "KN0410"
	CodeNoSuchField       Code = "KN0411"
	CodeFieldForm         Code = "KN0412"
	CodeFieldEnum         Code = "KN0413"
	CodeFieldFormat       Code = "KN0414"
	CodeFieldMissing      Code = "KN0415"
	CodeItemTwice         Code = "KN0416"
	CodeFieldResult       Code = "KN0417"
	CodeNoStatus          Code = "KN0418"
	CodeNoSubresource     Code = "KN0419"
	CodeChildStatus       Code = "KN0420"
	CodeSameItem          Code = "KN0421"
	CodeNoConditions      Code = "KN0422"
	CodeLabel             Code = "KN0423"
	CodeSelectorLabels    Code = "KN0424"
	CodeNoVolume          Code = "KN0425"
	CodeRequestAboveLimit Code = "KN0426"
	CodeNoSchema          Code = "KN0440"
)

// What can be found in how the parts of a rule hang together.
const (
	CodeChildCycle    Code = "KN0501"
	CodeSelfReference Code = "KN0502"
	CodeVariableCycle Code = "KN0503"
	CodeSkippedChild  Code = "KN0504"
	CodeRecursion     Code = "KN0505"

	CodeSkippedLookup   Code = "KN0506"
	CodeUnguardedLookup Code = "KN0507"
	CodePairedWithOne   Code = "KN0508"
	CodePairCycle       Code = "KN0509"

	CodeIgnoreUnknown Code = "KN0530"
	CodeIgnorePart    Code = "KN0531"

	CodeUncreatedChild Code = "KN0540"
	CodeShortLivedJob  Code = "KN0541"
	CodeFormerState    Code = "KN0542"
)

// What can be found in what a rule deletes.
const (
	CodePowerfulParent Code = "KN0720"
)

// What can be found in how a child is to be created again and rolled out.
const (
	CodeRecreateLoses Code = "KN0741"
	CodeIdleRollout   Code = "KN0742"
	CodeRolloutShare  Code = "KN0743"
	CodeImmutable     Code = "KN0744"
)

// What can be found among the rules of all sources.
const (
	CodeRuleTwice     Code = "KN0601"
	CodeRuleNamespace Code = "KN0602"
	CodeClash         Code = "KN0603"
)

// What can be found in patches.
const (
	CodePatchTarget      Code = "KN0760"
	CodePatchID          Code = "KN0761"
	CodePatchIdentity    Code = "KN0762"
	CodePatchReadsItself Code = "KN0763"
	CodePatchSecret      Code = "KN0764"
)

// What can be found in the schema of the parent's kind.
const (
	CodeShortType   Code = "KN0801"
	CodeShortMarker Code = "KN0802"
	CodeKindSchema  Code = "KN0803"
)

// CodeInfo describes a code.
type CodeInfo struct {
	Code Code
	// Title says in a few words what is wrong, as a heading.
	Title string
	// Severity is that of every finding with this code.
	Severity Severity
}

// Codes lists every code, in order.
func Codes() []CodeInfo { //nolint:funlen // It is a table.
	return []CodeInfo{
		{CodeNotYAML, "The text is not YAML", SeverityError},
		{CodeNotMapping, "A document is not a mapping", SeverityError},
		{CodeNoKind, "A document lacks apiVersion or kind", SeverityError},
		{CodeForeignKind, "A document of another kind", SeverityError},
		{CodeAPIVersion, "A rule of another version of the language", SeverityError},
		{CodeBrokenCRD, "An incomplete CustomResourceDefinition", SeverityError},
		{CodeDuplicateKey, "A duplicate field", SeverityError},
		{CodeBadScalar, "A value that JSON cannot represent", SeverityError},
		{CodeBadKey, "A key that is not a string", SeverityError},
		{CodeBadMerge, "A merge key without a mapping", SeverityError},
		{CodeEndlessAlias, "An alias that is part of itself", SeverityError},
		{CodeTooDeep, "Too many levels", SeverityError},
		{CodeTooManyValues, "Too many values", SeverityError},
		{CodeMoreErrors, "More errors", SeverityError},
		{CodeMoreWarnings, "More warnings", SeverityWarning},
		{CodeTooManyDocs, "Too many documents", SeverityError},
		{CodeRefusedCRD, "A CustomResourceDefinition that the API server refuses", SeverityError},

		{CodeUnknownField, "An unknown field", SeverityError},
		{CodeMissingField, "A missing field", SeverityError},
		{CodeFieldType, "A value of the wrong type", SeverityError},
		{CodeStrayExpression, "An expression where none is evaluated", SeverityError},
		{CodeEmpty, "A value is empty", SeverityError},
		{CodeObjectName, "A name that Kubernetes does not accept", SeverityError},
		{CodeConditionPrefix, "An invalid condition prefix", SeverityError},
		{CodeSelector, "An invalid selector", SeverityError},
		{CodeGroupVersion, "An invalid apiVersion", SeverityError},
		{CodeParentNamespaces, "Namespaces for a cluster-scoped parent", SeverityError},
		{CodeConditionType, "An invalid condition type", SeverityError},
		{CodeReason, "An invalid reason", SeverityError},
		{CodeNotOneOf, "A value that is not allowed", SeverityError},
		{CodeDuration, "An invalid duration", SeverityError},
		{CodeIgnorePath, "An invalid path", SeverityError},
		{CodeIgnoreIdentity, "A field that cannot be ignored", SeverityError},
		{CodeIgnoreTwice, "A field is ignored twice", SeverityError},

		{CodeIdleCondition, "A condition without effect", SeverityError},
		{CodeRandomIdentity, "A random name", SeverityError},

		{CodeUnusableName, "A name that expressions cannot use", SeverityError},
		{CodeReservedName, "A reserved name", SeverityError},
		{CodeNameTwice, "A duplicate name", SeverityError},
		{CodeUnknownName, "An unknown name", SeverityError},
		{CodeUnknownFunction, "An unknown function", SeverityError},
		{CodeUnknownChild, "An unknown child", SeverityError},
		{CodeUnknownVariable, "An unknown variable", SeverityError},
		{CodeNoMember, "A name is missing after children or variables", SeverityError},
		{CodeOutOfScope, "A name that cannot be read here", SeverityError},
		{CodeUnknownLookup, "An unknown lookup", SeverityError},
		{CodeLookupForm, "A lookup without a name or a selector, or with both", SeverityError},
		{CodeNotPaired, "each of a child with other items", SeverityError},

		{CodeNotClosed, "An expression is never closed", SeverityError},
		{CodeEmptyExpression, "An expression is empty", SeverityError},
		{CodeSyntax, "An expression is not valid CEL", SeverityError},
		{CodeTypes, "Types do not match", SeverityError},
		{CodeResultType, "An expression gives the wrong type", SeverityError},
		{CodeNotText, "A value that cannot be part of text", SeverityError},
		{CodeStraySpread, "A spread outside a list", SeverityError},
		{CodeNotExpression, "Not one whole expression", SeverityError},
		{CodeBadConstant, "A constant that cannot be used", SeverityError},
		{CodeEnvironment, "The CEL environment is broken", SeverityError},
		{CodeMovingTime, "A value that changes every second", SeverityError},
		{CodeUnknownStatus, "A field that spec.status does not render", SeverityError},
		{CodeTooCostly, "An expression that costs too much", SeverityError},
		{CodeLooksLike, "Text that looks like an expression", SeverityWarning},
		{CodeUnknownPath, "A field that the schema does not have", SeverityError},
		{CodeNeverEqual, "A comparison that always has the same result", SeverityError},
		{CodeConstant, "A condition that is always the same", SeverityWarning},
		{CodeOptionalField, "A field that may be missing", SeverityWarning},

		{CodeUnknownKind, "An unknown kind", SeverityError},
		{CodeUncheckedKind, "A kind that cannot be checked", SeverityWarning},
		{CodeUnusableKind, "A kind that Kanon cannot work with", SeverityError},
		{CodeIncomplete, "A template without apiVersion, kind or name", SeverityError},
		{CodeTemplateType, "A value of the wrong type in a template", SeverityError},
		{CodeGenerateName, "A template with generateName", SeverityError},
		{CodeServerField, "A field that a template cannot set", SeverityError},
		{CodeNamespaceForbid, "A namespace for a cluster-scoped object", SeverityError},
		{CodeNamespaceRequired, "A namespace is missing", SeverityError},
		{CodeSameObject, "Two children are the same object", SeverityError},
		{CodeNoSuchField, "A field that the kind does not have", SeverityError},
		{CodeFieldForm, "A value of the wrong type for its field", SeverityError},
		{CodeFieldEnum, "A value that its field does not allow", SeverityError},
		{CodeFieldFormat, "Text that is not in the field's format", SeverityError},
		{CodeFieldMissing, "A field that the kind requires", SeverityError},
		{CodeItemTwice, "Two items of a list have the same key", SeverityError},
		{CodeFieldResult, "An expression gives the wrong type for its field", SeverityError},
		{CodeNoStatus, "A status that the parent's kind does not have", SeverityError},
		{CodeNoSubresource, "A status without a subresource", SeverityWarning},
		{CodeChildStatus, "A template that sets the status", SeverityError},
		{CodeSameItem, "All items are the same object", SeverityError},
		{CodeNoConditions, "Conditions that the parent's kind does not have", SeverityWarning},
		{CodeLabel, "A label that Kubernetes does not accept", SeverityError},
		{CodeSelectorLabels, "A selector that does not match the Pods of its template", SeverityError},
		{CodeNoVolume, "A mount of a volume that the Pod does not have", SeverityError},
		{CodeRequestAboveLimit, "A request above the limit", SeverityError},
		{CodeNoSchema, "A kind without a schema", SeverityWarning},

		{CodeChildCycle, "Children depend on each other", SeverityError},
		{CodeSelfReference, "A child depends on itself", SeverityError},
		{CodeVariableCycle, "Variables or lookups depend on each other", SeverityError},
		{CodeSkippedChild, "A child that may be skipped is read", SeverityError},
		{CodeRecursion, "Children that are parents themselves", SeverityError},
		{CodeSkippedLookup, "A lookup that may be skipped is read", SeverityError},
		{CodeUnguardedLookup, "An optional lookup is read without a test", SeverityWarning},
		{CodePairedWithOne, "sameAs of a child that has no items", SeverityError},
		{CodePairCycle, "sameAs leads back to itself", SeverityError},
		{CodeIgnoreUnknown, "An ignored field that the kind does not have", SeverityError},
		{CodeIgnorePart, "A part that cannot be ignored on its own", SeverityError},
		{CodeUncreatedChild, "A child that may not be created is read", SeverityError},
		{CodeShortLivedJob, "A Job that deletes itself is recreated", SeverityWarning},
		{CodeFormerState, "The state of an object with an earlier name", SeverityWarning},

		{CodeRuleTwice, "Two rules with the same name", SeverityError},
		{CodeRuleNamespace, "A rule outside Kanon's namespace", SeverityError},
		{CodeClash, "Two rules for the same objects", SeverityWarning},
		{CodePowerfulParent, "A parent that a rule may not delete", SeverityError},

		{CodeRecreateLoses, "Recreating a child would delete its contents", SeverityError},
		{CodeIdleRollout, "A rollout without effect", SeverityError},
		{CodeRolloutShare, "An invalid maxUnavailable", SeverityError},
		{CodeImmutable, "An immutable field that is computed from what can change", SeverityWarning},

		{CodeShortType, "An unknown type in the schema of a kind", SeverityError},
		{CodeShortMarker, "An invalid marker in the schema of a kind", SeverityError},
		{CodeKindSchema, "An invalid schema of a kind", SeverityError},

		{CodePatchTarget, "A patch target without a name or a selector, or with both", SeverityError},
		{CodePatchID, "An id that a patch cannot have", SeverityError},
		{CodePatchIdentity, "A patch that sets the identity of its target", SeverityError},
		{CodePatchReadsItself, "A patch that reads what it writes", SeverityError},
		{CodePatchSecret, "Values of a Secret that cannot be restored", SeverityWarning},
	}
}

// severity is that of the table in Codes, which is too long to search for each finding.
func (c Code) severity() Severity {
	switch c {
	case CodeMoreWarnings, CodeLooksLike, CodeConstant, CodeOptionalField, CodeUncheckedKind,
		CodeNoSubresource, CodeNoConditions, CodeNoSchema, CodeUnguardedLookup, CodeShortLivedJob,
		CodePatchSecret, CodeClash, CodeImmutable, CodeFormerState:
		return SeverityWarning
	default:
		return SeverityError
	}
}
