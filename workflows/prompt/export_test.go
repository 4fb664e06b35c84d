package prompt

// RenderFrom renders with other built-in templates and fragments.
var RenderFrom = render
