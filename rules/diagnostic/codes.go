package diagnostic

import (
	"cmp"
	"slices"
)

// Code identifies the kind of mistake that a finding reports; docs/reference/findings explains each one.
// A code keeps its meaning forever, and a retired code is not used again.
type Code string

// The codes, each with a title that says in a few words what is wrong.
//
//nolint:gochecknoglobals // constants in all but syntax
var (
	// The text of a source.
	CodeNotYAML       = mistake("KN0001", "The text is not YAML")
	CodeNotMapping    = mistake("KN0002", "A document is not a mapping")
	CodeNoKind        = mistake("KN0003", "A document lacks apiVersion or kind")
	CodeForeignKind   = mistake("KN0004", "A document of another kind")
	CodeAPIVersion    = mistake("KN0005", "A rule of another version of the language")
	CodeBrokenCRD     = mistake("KN0006", "An incomplete CustomResourceDefinition")
	CodeDuplicateKey  = mistake("KN0007", "A duplicate field")
	CodeBadScalar     = mistake("KN0008", "A value that JSON cannot represent")
	CodeBadKey        = mistake("KN0009", "A key that is not a string")
	CodeBadMerge      = mistake("KN0010", "A merge key without a mapping")
	CodeEndlessAlias  = mistake("KN0011", "An alias that is part of itself")
	CodeTooDeep       = mistake("KN0012", "Too many levels")
	CodeTooManyValues = mistake("KN0013", "Too many values")
	CodeMoreErrors    = mistake("KN0014", "More errors")
	CodeMoreWarnings  = warning("KN0015", "More warnings")
	CodeTooManyDocs   = mistake("KN0016", "Too many documents")
	CodeRefusedCRD    = mistake("KN0017", "A CustomResourceDefinition that the API server refuses")

	// The fields of a rule.
	CodeUnknownField     = mistake("KN0101", "An unknown field")
	CodeMissingField     = mistake("KN0102", "A missing field")
	CodeFieldType        = mistake("KN0103", "A value of the wrong type")
	CodeStrayExpression  = mistake("KN0104", "An expression where none is evaluated")
	CodeEmpty            = mistake("KN0105", "A value is empty")
	CodeObjectName       = mistake("KN0106", "A name that Kubernetes does not accept")
	CodeConditionPrefix  = mistake("KN0107", "An invalid condition prefix")
	CodeSelector         = mistake("KN0108", "An invalid selector")
	CodeGroupVersion     = mistake("KN0109", "An invalid apiVersion")
	CodeParentNamespaces = mistake("KN0110", "Namespaces for a cluster-scoped parent")
	CodeConditionType    = mistake("KN0111", "An invalid condition type")
	CodeReason           = mistake("KN0112", "An invalid reason")
	CodeNotOneOf         = mistake("KN0113", "A value that is not allowed")
	CodeDuration         = mistake("KN0114", "An invalid duration")
	CodeBooleanWord      = warning("KN0115", "A word that kubectl reads as a boolean")
	CodeIgnorePath       = mistake("KN0130", "An invalid path")
	CodeIgnoreIdentity   = mistake("KN0131", "A field that cannot be ignored")
	CodeIgnoreTwice      = mistake("KN0132", "A field is ignored twice")

	// How a child is written.
	CodeIdleCondition  = mistake("KN0140", "A condition without effect")
	CodeRandomIdentity = mistake("KN0141", "A random name")

	// Names and references to them.
	CodeUnusableName    = mistake("KN0201", "A name that expressions cannot use")
	CodeReservedName    = mistake("KN0202", "A reserved name")
	CodeNameTwice       = mistake("KN0203", "A duplicate name")
	CodeUnknownName     = mistake("KN0204", "An unknown name")
	CodeUnknownFunction = mistake("KN0205", "An unknown function")
	CodeUnknownChild    = mistake("KN0206", "An unknown child")
	CodeUnknownVariable = mistake("KN0207", "An unknown variable")
	CodeNoMember        = mistake("KN0208", "A name is missing after children or variables")
	CodeOutOfScope      = mistake("KN0209", "A name that cannot be read here")
	CodeUnknownLookup   = mistake("KN0210", "An unknown lookup")
	CodeLookupForm      = mistake("KN0211", "A lookup without a name or a selector, or with both")
	CodeNotPaired       = mistake("KN0212", "each of a child with other items")

	// Expressions.
	CodeNotClosed       = mistake("KN0301", "An expression is never closed")
	CodeEmptyExpression = mistake("KN0302", "An expression is empty")
	CodeSyntax          = mistake("KN0303", "An expression is not valid CEL")
	CodeTypes           = mistake("KN0304", "Types do not match")
	CodeResultType      = mistake("KN0305", "An expression gives the wrong type")
	CodeNotText         = mistake("KN0306", "A value that cannot be part of text")
	CodeStraySpread     = mistake("KN0307", "A spread outside a list")
	CodeNotExpression   = mistake("KN0308", "Not one whole expression")
	CodeBadConstant     = mistake("KN0309", "A constant that cannot be used")
	CodeEnvironment     = mistake("KN0310", "The CEL environment is broken")
	CodeMovingTime      = mistake("KN0311", "A value that changes every second")
	CodeUnknownStatus   = mistake("KN0312", "A field that spec.status does not render")
	CodeTooCostly       = mistake("KN0313", "An expression that costs too much")
	CodeLooksLike       = warning("KN0314", "Text that looks like an expression")
	CodeUnknownPath     = mistake("KN0320", "A field that the schema does not have")
	CodeNeverEqual      = mistake("KN0321", "A comparison that always has the same result")
	CodeConstant        = warning("KN0322", "A condition that is always the same")
	CodeOptionalField   = warning("KN0323", "A field that may be missing")

	// Kinds and templates.
	CodeUnknownKind       = mistake("KN0401", "An unknown kind")
	CodeUncheckedKind     = warning("KN0402", "A kind that cannot be checked")
	CodeUnusableKind      = mistake("KN0403", "A kind that Kanon cannot work with")
	CodeIncomplete        = mistake("KN0404", "A template without apiVersion, kind or name")
	CodeTemplateType      = mistake("KN0405", "A value of the wrong type in a template")
	CodeGenerateName      = mistake("KN0406", "A template with generateName")
	CodeServerField       = mistake("KN0407", "A field that a template cannot set")
	CodeNamespaceForbid   = mistake("KN0408", "A namespace for a cluster-scoped object")
	CodeNamespaceRequired = mistake("KN0409", "A namespace is missing")
	CodeSameObject        = mistake("KN0410", "Two children are the same object")
	CodeNoSuchField       = mistake("KN0411", "A field that the kind does not have")
	CodeFieldForm         = mistake("KN0412", "A value of the wrong type for its field")
	CodeFieldEnum         = mistake("KN0413", "A value that its field does not allow")
	CodeFieldFormat       = mistake("KN0414", "Text that is not in the field's format")
	CodeFieldMissing      = mistake("KN0415", "A field that the kind requires")
	CodeItemTwice         = mistake("KN0416", "Two items of a list have the same key")
	CodeFieldResult       = mistake("KN0417", "An expression gives the wrong type for its field")
	CodeNoStatus          = mistake("KN0418", "A status that the parent's kind does not have")
	CodeNoSubresource     = warning("KN0419", "A status without a subresource")
	CodeChildStatus       = mistake("KN0420", "A template that sets the status")
	CodeSameItem          = mistake("KN0421", "All items are the same object")
	CodeNoConditions      = warning("KN0422", "Conditions that the parent's kind does not have")
	CodeLabel             = mistake("KN0423", "A label that Kubernetes does not accept")
	CodeSelectorLabels    = mistake("KN0424", "A selector that does not match the Pods of its template")
	CodeNoVolume          = mistake("KN0425", "A mount of a volume that the Pod does not have")
	CodeRequestAboveLimit = mistake("KN0426", "A request above the limit")
	CodeRestlessStatus    = warning("KN0427", "A status that changes with each write of it")
	CodeToolMarks         = warning("KN0428", "Marks of tools are copied")
	CodeNoSchema          = warning("KN0440", "A kind without a schema")

	// Dependencies between the parts of a rule.
	CodeChildCycle      = mistake("KN0501", "Children depend on each other")
	CodeSelfReference   = mistake("KN0502", "A child depends on itself")
	CodeVariableCycle   = mistake("KN0503", "Variables or lookups depend on each other")
	CodeSkippedChild    = mistake("KN0504", "A child that may be skipped is read")
	CodeRecursion       = mistake("KN0505", "Children that are parents themselves")
	CodeSkippedLookup   = mistake("KN0506", "A lookup that may be skipped is read")
	CodeUnguardedLookup = warning("KN0507", "An optional lookup is read without a test")
	CodePairedWithOne   = mistake("KN0508", "sameAs of a child that has no items")
	CodePairCycle       = mistake("KN0509", "sameAs leads back to itself")
	CodeIgnoreUnknown   = mistake("KN0530", "An ignored field that the kind does not have")
	CodeIgnorePart      = mistake("KN0531", "A part that cannot be ignored on its own")
	CodeUncreatedChild  = mistake("KN0540", "A child that may not be created is read")
	CodeShortLivedJob   = warning("KN0541", "A Job that deletes itself is recreated")
	CodeFormerState     = warning("KN0542", "The state of an object with an earlier name")

	CodeStrangeNamespace = warning("KN0543", "A child in a Namespace that somebody else may have")

	// The rules of all sources together.
	CodeRuleTwice     = mistake("KN0601", "Two rules with the same name")
	CodeRuleNamespace = mistake("KN0602", "A rule outside Kanon's namespace")
	CodeClash         = warning("KN0603", "Two rules for the same objects")

	// What a rule deletes.
	CodePowerfulParent = mistake("KN0720", "A parent that a rule may not delete")

	// How a child is recreated and rolled out.
	CodeRecreateLoses = mistake("KN0741", "Recreating a child would delete its contents")
	CodeIdleRollout   = mistake("KN0742", "A rollout without effect")
	CodeRolloutShare  = mistake("KN0743", "An invalid maxUnavailable")
	CodeImmutable     = warning("KN0744", "An immutable field that is computed from what can change")

	// Patches.
	CodePatchTarget      = mistake("KN0760", "A patch target without a name or a selector, or with both")
	CodePatchID          = mistake("KN0761", "An id that a patch cannot have")
	CodePatchIdentity    = mistake("KN0762", "A patch that sets the identity of its target")
	CodePatchReadsItself = mistake("KN0763", "A patch that reads what it writes")
	CodePatchSecret      = warning("KN0764", "Values of a Secret that cannot be restored")

	// The schema of the parent's kind.
	CodeShortType   = mistake("KN0801", "An unknown type in the schema of a kind")
	CodeShortMarker = mistake("KN0802", "An invalid marker in the schema of a kind")
	CodeKindSchema  = mistake("KN0803", "An invalid schema of a kind")
	CodeStatusType  = mistake("KN0804", "A status field whose type is not known")
	CodeVersions    = mistake("KN0805", "Versions that need a conversion")
	CodeHeldCRD     = mistake("KN0806", "A definition that Kanon would not apply")

	// What a rule may reach.
	CodePrivileged = mistake("KN0901", "An object that grants rights")
	CodeBeyond     = mistake("KN0902", "A confined rule that reaches beyond its namespace")
	CodeUntrusted  = mistake("KN0903", "A permission that only a trusted source can give")

	CodeTooManyRules = mistake("KN0904", "Too many rules in a namespace")
)

// CodeInfo describes a code.
type CodeInfo struct {
	Code Code
	// Title says in a few words what is wrong, as a heading.
	Title string
	// Severity is the severity of every finding with this code.
	Severity Severity
}

// codes has all codes, in order.
var codes []CodeInfo //nolint:gochecknoglobals // The declarations above fill it.

// mistake declares the code of an error: a rule with such a finding does not compile.
func mistake(code Code, title string) Code { return declare(CodeInfo{code, title, SeverityError}) }

// warning declares the code of a warning: a rule with such a finding runs.
func warning(code Code, title string) Code {
	return declare(CodeInfo{code, title, SeverityWarning})
}

func declare(info CodeInfo) Code {
	codes = append(codes, info)
	return info.Code
}

// Codes returns all codes, in order.
func Codes() []CodeInfo { return slices.Clone(codes) }

func (c Code) severity() Severity {
	i, found := slices.BinarySearchFunc(codes, c, func(info CodeInfo, c Code) int { return cmp.Compare(info.Code, c) })
	if !found {
		return SeverityError
	}
	return codes[i].Severity
}
