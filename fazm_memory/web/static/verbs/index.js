/** The dialogs of the verbs; importing this defines <fm-verbs>. */
export {};
