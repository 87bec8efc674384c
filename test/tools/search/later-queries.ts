import type { Query } from "./queries.ts";

/*
 * 111 queries in two voices: what a person at a desk says, and what a model types into a search. All were written before
 * any was searched for, and the wanted tools were looked up by name. Then they were divided: a query that wants a tool of
 * QUERIES went to the first half, one that wants a tool of UNSEEN_QUERIES to the second, the others by lot.
 */

/** Weights and synonyms were chosen on these too. */
export const LATER_QUERIES: readonly Query[] = [
  {
    words: "stop billing a person every month",
    wanted: [
      "stripe.DeleteSubscriptionsSubscriptionExposedId",
      "stripe.DeleteCustomersCustomerSubscriptionsSubscriptionExposedId",
    ],
  },
  { words: "20 percent off code for new shoppers", wanted: ["stripe.PostCoupons", "stripe.PostPromotionCodes"] },
  { words: "how much money is on our account", wanted: ["stripe.GetBalance", "twilio.FetchBalance"] },
  { words: "hand a ticket over to a colleague", wanted: ["jira.assignIssue"] },
  { words: "log two hours on a task", wanted: ["jira.addWorklog"] },
  { words: "two tickets are about the same thing, connect them", wanted: ["jira.linkIssues"] },
  { words: "move a task to done", wanted: ["jira.doTransition"] },
  { words: "tell the team in the general channel that lunch is ready", wanted: ["slack.chat_postMessage"] },
  { words: "post something tomorrow morning by itself", wanted: ["slack.chat_scheduleMessage"] },
  { words: "set up a video call for Monday", wanted: ["zoom.meetingCreate"] },
  { words: "watch a call that we missed", wanted: ["zoom.recordingGet", "zoom.recordingsList"] },
  { words: "why does my container keep crashing, show its output", wanted: ["kubernetes.readCoreV1NamespacedPodLog"] },
  {
    words: "more copies of my web app",
    wanted: ["kubernetes.patchAppsV1NamespacedDeploymentScale", "kubernetes.replaceAppsV1NamespacedDeploymentScale"],
  },
  { words: "I am on holiday, answer automatically", wanted: ["gmail.users.settings.updateVacation"] },
  { words: "am I free on Thursday afternoon", wanted: ["calendar.freebusy.query"] },
  { words: "let my boss read this document", wanted: ["drive.permissions.create"] },
  { words: "turn a doc into a pdf", wanted: ["drive.files.export"] },
  { words: "text my customer that the parcel is on its way", wanted: ["twilio.CreateMessage"] },
  { words: "dependabot vulnerability alerts for repository", wanted: ["github.dependabot.listAlertsForRepo"] },
  { words: "list unpaid invoices for customer", wanted: ["stripe.GetInvoices", "stripe.GetInvoicesSearch"] },
  { words: "search issues using JQL", wanted: ["jira.searchForIssuesUsingJql", "jira.searchForIssuesUsingJqlPost"] },
  { words: "upload attachment to ticket", wanted: ["jira.addAttachment"] },
  { words: "upload file to channel", wanted: ["slack.files_upload"] },
  { words: "fetch recent messages from channel history", wanted: ["slack.conversations_history"] },
  { words: "look up user by email address in workspace", wanted: ["slack.users_lookupByEmail"] },
  { words: "create reminder", wanted: ["slack.reminders_add"] },
  {
    words: "list participants of past meeting",
    wanted: ["zoom.pastMeetingParticipants", "zoom.reportMeetingParticipants"],
  },
  { words: "download cloud recording", wanted: ["zoom.recordingGet", "zoom.recordingsList"] },
  {
    words: "register attendee for webinar",
    wanted: ["zoom.webinarRegistrantCreate", "zoom.addBatchWebinarRegistrants"],
  },
  { words: "list pods in namespace", wanted: ["kubernetes.listCoreV1NamespacedPod"] },
  {
    words: "search emails from sender with attachment",
    wanted: ["gmail.users.messages.list", "gmail.users.threads.list"],
  },
  { words: "schedule event with attendees", wanted: ["calendar.events.insert"] },
  { words: "add tracks to playlist", wanted: ["spotify.addTracksToPlaylist"] },
  {
    words: "redeliver failed webhook delivery",
    wanted: [
      "github.repos.redeliverWebhookDelivery",
      "github.orgs.redeliverWebhookDelivery",
      "github.apps.redeliverWebhookDelivery",
    ],
  },
  { words: "make it louder", wanted: ["spotify.setVolumeForUsersPlayback"] },
  {
    words: "recommend songs similar to an artist",
    wanted: ["spotify.getRecommendations", "spotify.getAnArtistsRelatedArtists"],
  },
  { words: "list files in folder", wanted: ["drive.files.list"] },
  { words: "revision history of a document", wanted: ["drive.revisions.list"] },
  { words: "verify customer's identity document", wanted: ["stripe.PostIdentityVerificationSessions"] },
  { words: "which tickets are still open in my repo", wanted: ["github.issues.listForRepo"] },
  { words: "how many people look at my project page each day", wanted: ["github.repos.getViews"] },
  { words: "download email attachment", wanted: ["gmail.users.messages.attachments.get"] },
  { words: "archive channel", wanted: ["slack.conversations_archive", "slack.admin_conversations_archive"] },
  {
    words: "get ingress rules",
    wanted: [
      "kubernetes.listNetworkingV1NamespacedIngress",
      "kubernetes.readNetworkingV1NamespacedIngress",
      "kubernetes.listNetworkingV1IngressForAllNamespaces",
    ],
  },
  { words: "share calendar with colleague", wanted: ["calendar.acl.insert"] },
  {
    words: "a bill that was never paid, write it off",
    wanted: ["stripe.PostInvoicesInvoiceMarkUncollectible", "stripe.PostInvoicesInvoiceVoid"],
  },
  { words: "how much room is left for my files", wanted: ["drive.about.get"] },
  { words: "add watcher to issue", wanted: ["jira.addWatcher"] },
  {
    words: "who came to yesterday's webinar",
    wanted: ["zoom.reportWebinarParticipants", "zoom.listWebinarParticipants"],
  },
  { words: "is my teammate online", wanted: ["slack.users_getPresence"] },
  { words: "get custom field definitions", wanted: ["jira.getFields", "jira.getFieldsPaginated"] },
  { words: "get rid of a branch after it was merged", wanted: ["github.git.deleteRef"] },
  { words: "add labels to an issue", wanted: ["github.issues.addLabels", "github.issues.setLabels"] },
  { words: "play the next song", wanted: ["spotify.skipUsersPlaybackToNextTrack"] },
  { words: "comment on a document", wanted: ["drive.comments.create"] },
];

/** Searched for once, when weights and synonyms were chosen. */
export const LATER_UNSEEN_QUERIES: readonly Query[] = [
  {
    words: "who wrote most of the code",
    wanted: ["github.repos.listContributors", "github.repos.getContributorsStats"],
  },
  { words: "what happened to this ticket over time", wanted: ["jira.getChangeLogs", "jira.getChangeLogsByIds"] },
  { words: "who is in this channel", wanted: ["slack.conversations_members"] },
  { words: "which machines are in the cluster", wanted: ["kubernetes.listCoreV1Node"] },
  {
    words: "throw a mail away",
    wanted: [
      "gmail.users.messages.trash",
      "gmail.users.messages.delete",
      "gmail.users.threads.trash",
      "gmail.users.threads.delete",
    ],
  },
  { words: "cancel the dentist appointment", wanted: ["calendar.events.delete"] },
  { words: "get file contents from repository", wanted: ["github.repos.getContent"] },
  { words: "list commits by author since date", wanted: ["github.repos.listCommits"] },
  { words: "request review from teammate on PR", wanted: ["github.pulls.requestReviewers"] },
  { words: "create payment link", wanted: ["stripe.PostPaymentLinks"] },
  { words: "find customer by email", wanted: ["stripe.GetCustomersSearch", "stripe.GetCustomers"] },
  { words: "list projects visible to user", wanted: ["jira.searchProjects", "jira.getAllProjects"] },
  {
    words: "get call recording audio",
    wanted: ["twilio.FetchRecording", "twilio.FetchCallRecording", "twilio.ListCallRecording", "twilio.ListRecording"],
  },
  { words: "put a smiley on a message", wanted: ["slack.reactions_add"] },
  {
    words: "take a published release down again",
    wanted: ["github.repos.deleteRelease", "github.repos.updateRelease"],
  },
  { words: "create new version for project release", wanted: ["jira.createVersion"] },
  { words: "create recurring price for product", wanted: ["stripe.PostPrices", "stripe.PostPlans"] },
  { words: "comment on a specific line of a pull request diff", wanted: ["github.pulls.createReviewComment"] },
  { words: "create configmap", wanted: ["kubernetes.createCoreV1NamespacedConfigMap"] },
  { words: "songs that I have liked", wanted: ["spotify.getUsersSavedTracks"] },
  { words: "follow artist", wanted: ["spotify.followArtistsUsers"] },
  {
    words: "put a due date on a group of issues",
    wanted: ["github.issues.createMilestone", "github.issues.updateMilestone"],
  },
  { words: "set repository secret for CI pipeline", wanted: ["github.actions.createOrUpdateRepoSecret"] },
  {
    words: "what did we spend on texting this month",
    wanted: ["twilio.ListUsageRecordThisMonth", "twilio.ListUsageRecord", "twilio.ListUsageRecordMonthly"],
  },
  { words: "approve pull request", wanted: ["github.pulls.createReview", "github.pulls.submitReview"] },
  { words: "write a mail and keep it for later", wanted: ["gmail.users.drafts.create"] },
  { words: "ring a phone number and read a sentence aloud", wanted: ["twilio.CreateCall"] },
  { words: "delete stuck job", wanted: ["kubernetes.deleteBatchV1NamespacedJob"] },
  {
    words: "is the build of this commit green",
    wanted: [
      "github.repos.getCombinedStatusForRef",
      "github.repos.listCommitStatusesForRef",
      "github.checks.listForRef",
      "github.checks.listSuitesForRef",
    ],
  },
  { words: "remove user from zoom account", wanted: ["zoom.userDelete"] },
  { words: "restart deployment rollout", wanted: ["kubernetes.patchAppsV1NamespacedDeployment"] },
  { words: "do not ring for the next hour", wanted: ["slack.dnd_setSnooze"] },
  {
    words: "mark email as read",
    wanted: ["gmail.users.messages.modify", "gmail.users.messages.batchModify", "gmail.users.threads.modify"],
  },
  {
    words: "buy phone number in area code",
    wanted: [
      "twilio.CreateIncomingPhoneNumber",
      "twilio.CreateIncomingPhoneNumberLocal",
      "twilio.ListAvailablePhoneNumberLocal",
    ],
  },
  { words: "set channel topic", wanted: ["slack.conversations_setTopic"] },
  { words: "when does the money arrive at our bank", wanted: ["stripe.GetPayouts", "stripe.GetPayoutsPayout"] },
  { words: "who is working on ticket ABC-12", wanted: ["jira.getIssue"] },
  { words: "connected account onboarding link", wanted: ["stripe.PostAccountLinks"] },
  { words: "duplicate a spreadsheet", wanted: ["drive.files.copy"] },
  { words: "issue virtual card with spending limit", wanted: ["stripe.PostIssuingCards"] },
  { words: "create pull request from feature branch", wanted: ["github.pulls.create"] },
  { words: "list upcoming events", wanted: ["calendar.events.list"] },
  {
    words: "bind role to service account",
    wanted: [
      "kubernetes.createRbacAuthorizationV1NamespacedRoleBinding",
      "kubernetes.createRbacAuthorizationV1ClusterRoleBinding",
    ],
  },
  {
    words: "forward incoming mail to another address",
    wanted: ["gmail.users.settings.updateAutoForwarding", "gmail.users.settings.forwardingAddresses.create"],
  },
  { words: "search repositories by language and stars", wanted: ["github.search.repos"] },
  { words: "get thread replies", wanted: ["slack.conversations_replies"] },
  { words: "what did I listen to lately", wanted: ["spotify.getRecentlyPlayed"] },
  { words: "put a song in the line after the one that plays", wanted: ["spotify.addToQueue"] },
  { words: "check delivery status of sms", wanted: ["twilio.FetchMessage"] },
  { words: "who called us yesterday", wanted: ["twilio.ListCall", "zoom.accountCallLogs"] },
  { words: "get license of repository", wanted: ["github.licenses.getForRepo"] },
  { words: "evict pod from node", wanted: ["kubernetes.createCoreV1NamespacedPodEviction"] },
  {
    words: "stop getting mail about this discussion",
    wanted: ["github.activity.deleteThreadSubscription", "github.activity.setThreadSubscription"],
  },
  {
    words: "find users who can be assigned to an issue",
    wanted: ["jira.findAssignableUsers", "jira.findBulkAssignableUsers"],
  },
  {
    words: "someone contests a card payment, hand in our proof",
    wanted: ["stripe.PostDisputesDispute", "stripe.PostChargesChargeDispute"],
  },
  {
    words: "tempo and key of a track",
    wanted: ["spotify.getAudioFeatures", "spotify.getSeveralAudioFeatures", "spotify.getAudioAnalysis"],
  },
];
