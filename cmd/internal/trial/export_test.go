package trial

var Consent = Options.consent
